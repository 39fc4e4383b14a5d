"""`assay rules`: list, show and test."""

import re
from pathlib import Path

import pytest

from assay.scan.ruleset import load_ruleset
from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import RULE, written

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with one rule."""
    return written(tmp_path / "house-rules", {"house.toml": RULE.format(severity="medium")})


def test_rules_are_listed(own: Path) -> None:
    """As a table and as JSON, including custom rules."""
    ran = assay_here("rules", "list")
    assert ran.code == 0
    listed = re.findall(r"^([A-Z]{2}-\d{3}) ", ran.out, re.MULTILINE)
    assert listed == [rule.id for rule in load_ruleset().rules]
    document = assay_here("rules", "list", "--format", "json", "--ruleset", own).json
    assert {rule["id"] for rule in document["rules"]} == {*listed, "HR-001"}
    assert document["ruleset"] != load_ruleset().version
    assert next(rule for rule in document["rules"] if rule["id"] == "HR-001") == {
        "id": "HR-001",
        "family": "house_rules",
        "title": "The word is xyzzy",
        "severity": "medium",
        "confidence": 1.0,
        "appliesTo": "all",
        "rationale": "Nobody says that any more.",
        "remediation": "Say something else.",
        "references": ["CWE-78", "LLM01:2025"],
        "replaces": ["OLD-7"],
    }


def test_show_rule_by_id_or_replaced_id(own: Path) -> None:
    shown = assay_here("rules", "show", "HR-001", "--ruleset", own)
    assert shown.code == 0
    for fact in ("HR-001 The word is xyzzy", "house_rules", "medium", "Nobody says", "Say something else.", "CWE-78"):
        assert fact in shown.out
    assert re.search(r"bad specimen, SKILL.md:\n    xyzzy\n  benign specimen, SKILL.md:\n    plugh\n", shown.out)
    for name in ("OLD-7", "old-7", "hr-001"):
        assert assay_here("rules", "show", name, "--ruleset", own) == shown


def test_specimen_cannot_control_the_terminal() -> None:
    odd = [rule.id for rule in load_ruleset().rules if not (rule.bad + rule.benign).replace("\n", "").isprintable()]
    shown = [assay_here("rules", "show", name) for name in odd]
    assert {ran.code for ran in shown} == {0}
    assert "".join(ran.out for ran in shown).replace("\n", "").isprintable()


def test_unknown_rule() -> None:
    ran = assay_here("rules", "show", "XX-999")
    assert (ran.code, "There is no rule 'XX-999'" in one_line(ran)) == (3, True)


def test_shipped_rules_match_their_specimens() -> None:
    ran = assay_here("rules", "test")
    number = len(load_ruleset().rules)
    assert (ran.code, ran.out) == (0, f"{number} rules tested: {number} passed, 0 failed.\n")


def test_custom_rules_are_tested_alone(own: Path) -> None:
    assert assay_here("rules", "test", own).out == "1 rules tested: 1 passed, 0 failed.\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('bad = "xyzzy"', 'bad = "plover"'), "HR-001 does not match its bad specimen in SKILL.md."),
        (('"plugh"', '"\\nsay xyzzy now"'), "HR-001 matches its benign specimen at SKILL.md:2: say xyzzy now"),
        (
            ("bad =", 'specimen_encoding = "nonsense"\nbad ='),
            "HR-001 has a specimen that cannot be encoded as 'nonsense'.",
        ),
    ],
)
def test_failing_rule_is_named(own: Path, change: tuple[str, str], said: str) -> None:
    written(own, {"house.toml": RULE.format(severity="medium").replace(*change)})
    ran = assay_here("rules", "test", own)
    assert ran.code == 1
    assert ran.out == f"{said}\n1 rules tested: 0 passed, 1 failed.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RULE.format(severity="awful"), "house.toml: rule HR-001: "),
        (RULE.format(severity="low").replace("'xyzzy'", "'(x+)+y'"), "house.toml: rule HR-001: "),
        ("[[rule", "house.toml: "),
    ],
)
def test_unreadable_rule_is_named_with_its_file(own: Path, text: str, said: str) -> None:
    ran = assay_here("rules", "test", written(own, {"house.toml": text}))
    assert ran.code == 2
    assert one_line(ran).startswith(said)


def test_custom_file_replaces_the_shipped_file_of_that_name(own: Path) -> None:
    """A family can be changed or emptied."""
    written(own, {"persistence.toml": 'family = "persistence"\nrule = []\n'})
    document = assay_here("rules", "list", "--format", "json", "--ruleset", own).json
    families = {rule["family"] for rule in document["rules"]}
    assert families == {rule.family for rule in load_ruleset().rules} - {"persistence"} | {"house_rules"}


def test_documented_example_is_a_valid_rule(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", (DOCS / "scanning.md").read_text(), re.DOTALL)[1]
    assert assay_here("rules", "test", written(tmp_path, {"house.toml": text})).code == 0


def test_custom_lists_extend_the_shipped_lists(own: Path) -> None:
    written(own, {"vocabulary.toml": "magic_words = ['plover', 'xyzzy']\n"})
    written(own, {"house.toml": RULE.format(severity="low").replace("['xyzzy']", '["@magic_words"]')})
    assert assay_here("rules", "test", own).out == "1 rules tested: 1 passed, 0 failed.\n"
    written(own, {"vocabulary.toml": "other_words = ['plover']\n"})
    ran = assay_here("rules", "test", own)
    assert (ran.code, "house.toml: rule HR-001: " in one_line(ran), "magic_words" in ran.err) == (2, True, True)


def test_custom_words_can_be_used_in_patterns(own: Path) -> None:
    """`<@magic>` matches any word of that list; an unknown list is reported."""
    written(own, {"vocabulary.toml": "words.magic = ['plover', 'xyzzy']\n"})
    written(own, {"house.toml": RULE.format(severity="low").replace("['xyzzy']", "['<@magic>']")})
    assert assay_here("rules", "test", own).out == "1 rules tested: 1 passed, 0 failed.\n"
    written(own, {"vocabulary.toml": "words.other = ['plover']\n"})
    ran = assay_here("rules", "test", own)
    assert (ran.code, "house.toml: rule HR-001: " in one_line(ran), "words.magic" in ran.err) == (2, True, True)
