"""The structure of a skill: size limits, and links that are broken, external or misleading."""

import pytest

from assay.model.finding import Finding
from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from tests.support.skills import a_skill

SIZE, MISSING, OUTSIDE, DECEPTIVE = "ST-009", "ST-010", "ST-011", "ST-012"


def findings(ruleset: Ruleset, rule_id: str, body: str = "", **files: str) -> list[Finding]:
    """Return the findings of one rule for a skill with these additional files."""
    source = Source({"SKILL.md": a_skill(body=body).encode()} | {p: t.encode() for p, t in files.items()}, "0" * 40)
    report = scan_source(source, ruleset)
    assert Decision.APPROVE is static_verdict(report, Policy()).decision, "no verdict changes for this alone"
    return [finding for finding in report.findings if finding.rule_id == rule_id]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"body": "One more line.\n" * 1_001}, "1,009 lines"),
        ({"body": "It is sunny. " * 4_000}, "52,0"),
        ({"references/all.md": "It is sunny. " * 25_000}, "more than an agent reads"),
        ({f"data/{number}.csv": "sunny,22\n" * 100_000 for number in range(5)}, "All files together"),
        ({f"data/{number}.csv": "sunny,22\n" for number in range(300)}, "301 files"),
    ],
    ids=["lines", "bytes", "one file", "all files", "many files"],
)
def test_oversized_instructions_are_reported(ruleset: Ruleset, files: dict[str, str], said: str) -> None:
    (found,) = findings(ruleset, SIZE, **files)
    assert said in found.message


def test_ordinary_skill_is_not_too_large(ruleset: Ruleset) -> None:
    files = {f"references/{number}.md": "It is sunny.\n" * 1_000 for number in range(50)}
    files["data.csv"] = "sunny,22\n" * 40_000
    assert [] == findings(ruleset, SIZE, body="One more line.\n" * 900, **files)


FILES = {"references/api.md": "The API.", "scripts/show.py": "print('sunny')", "My notes.md": "Notes."}


@pytest.mark.parametrize(
    "link",
    [
        "[api](references/api.md)",
        "[api](./references/api.md)",
        "[api](references/../references/api.md#errors)",
        "[api](<references/api.md> 'The API')",
        "[notes](My%20notes.md)",
        "[scripts](scripts/)",
        "[below](#below)",
        "[service](https://weather.example.com/none.md)",
        "[mail](mailto:help@example.com)",
        "[site](/docs/none.md)",
        "[blank](url)",
        "[blank]({path}/none.md)",
        "`[code](none.md)`",
        "```\n[fence](none.md)\n```",
        "<!-- [comment](none.md) -->",
        "[not a link] (none.md)",
    ],
)
def test_valid_links_are_ignored(ruleset: Ruleset, link: str) -> None:
    assert [] == findings(ruleset, MISSING, body=link, **FILES) + findings(ruleset, OUTSIDE, body=link, **FILES)


@pytest.mark.parametrize(
    ("link", "rule_id"),
    [
        ("[api](references/none.md)", MISSING),
        ("![picture](assets/none.png)", MISSING),
        ("See [one](references/api.md), [two](none.py).", MISSING),
        ("| [cell](none.md) |", MISSING),
        ("[rules](../rules.md)", OUTSIDE),
        ("[rules](references/../../rules.md)", OUTSIDE),
        ("[skill](../other-skill)", OUTSIDE),
    ],
)
def test_broken_links_are_reported_once(ruleset: Ruleset, link: str, rule_id: str) -> None:
    (found,) = findings(ruleset, rule_id, body=f"First.\n\n{link}\n\n{link}\n", **FILES)
    assert ("SKILL.md", 10) == (found.file, found.line)


@pytest.mark.parametrize(
    "link",
    [
        "[https://weather.example.com](https://login.example.org)",
        "[`https://weather.example.com/keys`](https://login.example.org/keys)",
        "[Get it at https://weather.example.com now](https://login.example.org)",
        "[www.example.com](https://login.example.org)",
        "[https://weather.example.com](https://weather.example.com.evil.example.org/)",
        "[https://weather.example.com](https://weather.example.com@evil.example.org/)",
        '<a class="x" href="https://login.example.org/">https://weather.example.com/</a>',
        "[https://weather.example.com](http://192.0.2.7/)",
    ],
)
def test_link_text_that_shows_another_address(ruleset: Ruleset, link: str) -> None:
    (found,) = findings(ruleset, DECEPTIVE, body=link)
    assert "medium" == found.severity
    (found,) = findings(ruleset, DECEPTIVE, **{"references/keys.md": f"# Keys\n\n{link}\n"})
    assert ("references/keys.md", 3) == (found.file, found.line)


@pytest.mark.parametrize(
    "link",
    [
        "[https://weather.example.com](https://weather.example.com/keys)",
        "[http://weather.example.com](https://www.weather.example.com)",
        "[https://example.com](https://docs.example.com)",
        "[HTTPS://Weather.Example.com](https://weather.example.com)",
        "[the guide](https://login.example.org)",
        "[node.js](https://login.example.org)",
        "[![https://badge.example.com](https://badge.example.com/x.svg)](https://ci.example.org)",
        "`[https://weather.example.com](https://login.example.org)`",
        "[https://weather.example.com](references/api.md)",
        "[https://[bad](https://login.example.org)",
    ],
)
def test_link_text_that_shows_its_target(ruleset: Ruleset, link: str) -> None:
    assert [] == findings(ruleset, DECEPTIVE, body=link, **FILES)
