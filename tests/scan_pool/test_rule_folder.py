"""Custom rules from a folder: errors are reported with their file before anything is scanned."""

from pathlib import Path

import pytest

from assay.model.errors import Invalid
from assay.scan.ruleset import load_ruleset
from assay.scan_pool.rule_folder import custom_rule_ids, read_ruleset
from assay.scan_pool.saved_engine import has_hyperscan
from tests.support.cli.skills_here import RULE, written

GOOD = RULE.format(severity="low")


def test_custom_rules_are_added_to_the_shipped_ones(tmp_path: Path) -> None:
    folder = written(tmp_path, {"house.toml": GOOD, "notes.txt": "no rule"})
    ruleset = read_ruleset(folder)
    assert {rule.id for rule in ruleset.rules} == {rule.id for rule in load_ruleset().rules} | {"HR-001"}
    assert ruleset.version != load_ruleset().version
    assert custom_rule_ids(folder) == {"HR-001"}
    assert read_ruleset(None) is load_ruleset()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (GOOD.replace("HR-001", "DR-001"), "house.toml: rule DR-001: This id is already used in download_and_run.toml"),
        (GOOD + GOOD.partition("\n\n")[2], "house.toml: rule HR-001: This id is already used above"),
        (GOOD.replace("'xyzzy'", "'(xyzzy'"), "house.toml: rule HR-001: Not a regular expression"),
        (GOOD.replace("'xyzzy'", "'xyzzy*'"), "house.toml: rule HR-001: Every repeat must be bounded"),
        (
            GOOD.replace("'xyzzy'", "'(é'").replace("[[rule]]", "[[rule]]\nraw = true"),
            "HR-001: Not a regular expression",
        ),
        (GOOD + "lowered_by = ['[z-a]']", "house.toml: rule HR-001: Not a regular expression"),
        (GOOD.replace('"low"', '"awful"'), "house.toml: rule HR-001: "),
        ("rule = 1", "house.toml: Rules must be written as"),
        ("family = ", "house.toml: "),
    ],
)
def test_invalid_rules_are_reported_with_file_and_rule(tmp_path: Path, wrong: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_ruleset(written(tmp_path, {"house.toml": wrong}))
    assert said in refused.value.message


def test_pattern_rejected_by_the_engine_is_reported(tmp_path: Path) -> None:
    """Each engine has limits beyond Python's syntax."""
    folder, said = written(tmp_path, {"house.toml": GOOD.replace("'xyzzy'", "'x{0,3}'")}), ""
    try:
        read_ruleset(folder)
    except Invalid as refused:
        said = refused.message
    assert has_hyperscan() == (said.startswith("house.toml: rule HR-001: ") and said.endswith(": x{0,3}"))
