"""Many skills a start: each gets its own result, and one that breaks the tool breaks nobody else's."""

import pytest

from assay.cage.run import Limits
from assay.deepscan.batch import scan_batch
from assay.deepscan.tool import ToolBroken
from assay.deepscan.workplace import LOOK_AWAY, Skill, kind_of
from assay.model.deep_scan import MOST_FINDINGS, DeepStatus
from assay.model.finding import Severity
from tests.support.deepscan.scripted import a_tool, without_canary

QUICK = Limits(wall_seconds=20)


def skill(name: str, text: str = "nothing", path: str = "a.txt") -> Skill:
    """A skill with one file."""
    return Skill(name, {path: text.encode()})


async def test_each_skill_gets_its_own(tmp_path: object) -> None:
    """G48: one start for all of them, and what is found is told of the skill and the file it is in."""
    skills = [skill("clean"), skill("bad", "x\nFIND critical\nFIND low", "../../etc/../deep/né w.txt"), skill("more")]
    scanned = await scan_batch(a_tool(), skills, QUICK)
    assert {name: result.status for name, result in scanned.results.items()} == {
        "clean": DeepStatus.CLEAN,
        "bad": DeepStatus.FINDINGS,
        "more": DeepStatus.CLEAN,
    }
    first, second = scanned.results["bad"].findings
    assert (first.severity, first.file, first.line) == (Severity.CRITICAL, "../../etc/../deep/né w.txt", 2)
    assert (second.severity, second.line) == (Severity.LOW, 3)


@pytest.mark.parametrize("breaks", ["CRASH", "BABBLE"])
async def test_a_skill_that_breaks_the_tool_is_found_and_is_no_pass(breaks: str) -> None:
    """It is an error of that skill; all others are looked at as if it were not there."""
    skills = [skill(f"s{number}", "FIND high" if number == 4 else "fine") for number in range(6)]
    skills.insert(3, skill("breaker", f"FIND critical\n{breaks}"))
    results = (await scan_batch(a_tool(), skills, QUICK)).results
    assert results["breaker"].status is DeepStatus.ERROR
    assert results["breaker"].error
    assert results["s4"].status is DeepStatus.FINDINGS
    assert {results[f"s{number}"].status for number in (0, 1, 2, 3, 5)} == {DeepStatus.CLEAN}


async def test_a_skill_that_takes_too_long_is_found() -> None:
    """The time of one start bounds what one skill costs the others."""
    results = (await scan_batch(a_tool(), [skill("slow", "HANG"), skill("quick")], Limits(wall_seconds=4))).results
    assert (results["slow"].status, results["quick"].status) == (DeepStatus.ERROR, DeepStatus.CLEAN)
    assert "longer than 4 s" in (results["slow"].error or "")


@pytest.mark.parametrize(
    "tool",
    [without_canary(a_tool()), a_tool(program="print('[]')"), a_tool(program="raise SystemExit(3)")],
    ids=["finds nothing", "looks at nothing", "ends badly"],
)
async def test_a_tool_that_does_not_find_what_it_must_is_broken(tool: object) -> None:
    """Nothing found by a tool that does not look is never `clean`; and nobody's skill is blamed for it."""
    with pytest.raises(ToolBroken):
        await scan_batch(tool, [skill("one"), skill("two")], QUICK)  # type: ignore[arg-type]


async def test_findings_are_bounded_and_the_worst_are_kept() -> None:
    """At most 100 a skill, and how many more there were."""
    text = "\n".join(["FIND low"] * 150 + ["FIND critical"])
    result = (await scan_batch(a_tool(), [skill("many", text)], QUICK)).results["many"]
    assert (len(result.findings), result.left_out) == (MOST_FINDINGS, 51)
    assert result.findings[0].severity is Severity.CRITICAL


async def test_excerpts_show_no_secret() -> None:
    """What looks like a key is not kept, whichever tool points at its line."""
    text = 'FIND high key = "bQ4xW7zR2mK9dF6hJ1nP3sT8vY5c" in settings_of_the_application'
    [finding] = (await scan_batch(a_tool(), [skill("s", text)], QUICK)).results["s"].findings
    assert finding.excerpt == 'FIND high key = "[hidden]" in settings_of_the_application'


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("tests/example/a.PY", b"", "py"),
        ("a.mjs", b"", "js"),
        (".semgrepignore", b"*", "txt"),
        ("run", b"#!/usr/bin/env python3\n", "py"),
        ("run", b"#!/bin/bash\n", "sh"),
        ("a.txt", b"#!/usr/bin/env node\n", "js"),
        ("a.exe", b"MZ", "txt"),
        ("../a.py/..", b"", "txt"),
    ],
)
def test_files_are_called_by_what_they_are(path: str, content: bytes, kind: str) -> None:
    """A name can neither hide a program nor be an instruction to a tool."""
    assert kind_of(path, content) == kind


@pytest.mark.parametrize(
    "said", [b"# nosemgrep", b"// NOSEM", b"# kingfisher:ignore", b"// njsscan-ignore: eval", b"# gitleaks:allow"]
)
def test_no_word_makes_a_tool_look_away(said: bytes) -> None:
    """A skill cannot tell its scanner what to pass over."""
    assert LOOK_AWAY.search(said)
