"""Rules of a folder beside those that ship: whatever is wrong with one is told with its file, before anything is scanned."""

from pathlib import Path

import pytest

from assay.model.errors import Invalid
from assay.scan.ruleset import load_ruleset
from assay.scan_pool.rule_folder import own_rule_ids, read_ruleset
from assay.scan_pool.saved_engine import has_engine
from tests.support.cli.skills_here import RULE, written

GOOD = RULE.format(severity="low")


def test_rules_of_a_folder_stand_beside_those_that_ship(tmp_path: Path) -> None:
    """The ruleset is another, and none is missing."""
    folder = written(tmp_path, {"house.toml": GOOD, "notes.txt": "no rule"})
    ruleset = read_ruleset(folder)
    assert {rule.id for rule in ruleset.rules} == {rule.id for rule in load_ruleset().rules} | {"HR-001"}
    assert ruleset.version != load_ruleset().version
    assert own_rule_ids(folder) == {"HR-001"}
    assert read_ruleset(None) is load_ruleset()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (GOOD.replace("HR-001", "DR-001"), "house.toml: rule DR-001: this id is taken in download_and_run.toml"),
        (GOOD + GOOD.partition("\n\n")[2], "house.toml: rule HR-001: this id is taken above"),
        (GOOD.replace("'xyzzy'", "'(xyzzy'"), "house.toml: rule HR-001: not a regular expression"),
        (GOOD.replace("'xyzzy'", "'xyzzy*'"), "house.toml: rule HR-001: every repeat must be bounded"),
        (
            GOOD.replace("'xyzzy'", "'(é'").replace("[[rule]]", "[[rule]]\nraw = true"),
            "HR-001: not a regular expression",
        ),
        (GOOD + "lowered_by = ['[z-a]']", "house.toml: rule HR-001: not a regular expression"),
        (GOOD.replace('"low"', '"awful"'), "house.toml: rule HR-001: "),
        ("rule = 1", "house.toml: rules are written as"),
        ("family = ", "house.toml: "),
    ],
)
def test_what_is_wrong_is_told_with_file_and_rule(tmp_path: Path, wrong: str, said: str) -> None:
    """Also what would be noticed only when the first skill is scanned."""
    with pytest.raises(Invalid) as refused:
        read_ruleset(written(tmp_path, {"house.toml": wrong}))
    assert said in refused.value.message


def test_what_the_engine_cannot_search_for_is_told(tmp_path: Path) -> None:
    """A regular expression that matches nothing at all is one to Python; every engine has limits of its own."""
    folder, said = written(tmp_path, {"house.toml": GOOD.replace("'xyzzy'", "'x{0,3}'")}), ""
    try:
        read_ruleset(folder)
    except Invalid as refused:
        said = refused.message
    assert has_engine() == (said.startswith("house.toml: rule HR-001: ") and said.endswith(": x{0,3}"))
