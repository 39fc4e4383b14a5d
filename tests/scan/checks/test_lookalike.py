"""Lookalike names: one typo away from a well-known name is a finding."""

import pytest

from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.checks.lookalike import KNOWN
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from tests.support.skills import a_skill


def imitations(name: str, ruleset: Ruleset) -> list[Finding]:
    """Return the findings for a harmless skill with this name."""
    report = scan_source(Source({"SKILL.md": a_skill(name).encode()}, commit="0" * 40), ruleset)
    return [finding for finding in report.findings if finding.rule_id == "ST-008"]


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("skil-creator", "skill-creator"),
        ("kill-creator", "skill-creator"),
        ("skill-creato", "skill-creator"),
        ("skill-creators", "skill-creator"),
        ("skilll-creator", "skill-creator"),
        ("sskill-creator", "skill-creator"),
        ("skill-cr3ator", "skill-creator"),
        ("skill-creatro", "skill-creator"),
        ("ksill-creator", "skill-creator"),
        ("skillcreator", "skill-creator"),
        ("mcp_builder", "mcp-builder"),
        ("frontend-desing", "frontend-design"),
        ("openc1aw", "openclaw"),
        ("clawhud", "clawhub"),
        ("moltb00k", None),
    ],
)
def test_one_typo_is_an_imitation_and_two_are_not(name: str, twin: str | None, ruleset: Ruleset) -> None:
    """A letter omitted, added, changed or swapped."""
    found = imitations(name, ruleset)
    assert ([twin] if twin else []) == [finding.message.rpartition(" ")[2] for finding in found]
    assert all(name in finding.message for finding in found)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(KNOWN),
        # Too short: one typo is another word.
        "docs",
        "doc",
        "xls",
        "solano",
        "salana",
        # A different thing with the same words.
        "my-skill-creator",
        "skill-creator-pro",
        "creator-skill",
        "mcp-building",
        "web-design",
        "internal-communication",
        "release-notes",
        "s",
        "",
    ],
)
def test_other_names_are_no_imitation(name: str, ruleset: Ruleset) -> None:
    """Neither is the well-known skill itself."""
    assert [] == imitations(name, ruleset)
