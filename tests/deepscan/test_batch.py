"""Batches of deep scans: each skill gets its own result."""

import pytest

from assay.cage.run import CageLimits
from assay.deepscan.batch import scan_batch
from assay.deepscan.tool import ToolBroken
from assay.deepscan.workspace import SUPPRESSION_COMMENTS, SkillFiles, kind_of
from assay.model.deep_scan import MAX_FINDINGS, DeepStatus
from assay.model.finding import Severity
from tests.support.deepscan.scripted import a_tool, without_canary

pytestmark = pytest.mark.process

QUICK = CageLimits(wall_seconds=20)


def skill(name: str, text: str = "nothing", path: str = "a.txt") -> SkillFiles:
    """Return a skill with one file."""
    return SkillFiles(name, {path: text.encode()})


async def test_findings_are_assigned_to_their_skill(tmp_path: object) -> None:
    """G48: with one start for all."""
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
async def test_skill_that_crashes_the_tool_is_isolated(breaks: str) -> None:
    """it is an error for that skill only."""
    skills = [skill(f"s{number}", "FIND high" if number == 4 else "fine") for number in range(6)]
    skills.insert(3, skill("breaker", f"FIND critical\n{breaks}"))
    results = (await scan_batch(a_tool(), skills, QUICK)).results
    assert results["breaker"].status is DeepStatus.ERROR
    assert results["breaker"].error
    assert results["s4"].status is DeepStatus.FINDINGS
    assert {results[f"s{number}"].status for number in (0, 1, 2, 3, 5)} == {DeepStatus.CLEAN}


async def test_slow_skill_is_isolated() -> None:
    results = (await scan_batch(a_tool(), [skill("slow", "HANG"), skill("quick")], CageLimits(wall_seconds=4))).results
    assert (results["slow"].status, results["quick"].status) == (DeepStatus.ERROR, DeepStatus.CLEAN)
    assert "longer than 4 s" in (results["slow"].error or "")


@pytest.mark.parametrize(
    "tool",
    [without_canary(a_tool()), a_tool(program="print('[]')"), a_tool(program="raise SystemExit(3)")],
    ids=["finds nothing", "looks at nothing", "ends badly"],
)
async def test_tool_that_misses_its_control_is_broken(tool: object) -> None:
    """no skill is reported clean or blamed."""
    with pytest.raises(ToolBroken):
        await scan_batch(tool, [skill("one"), skill("two")], QUICK)  # type: ignore[arg-type]


async def test_findings_are_limited_to_the_most_severe() -> None:
    """100 per skill, with the number omitted."""
    text = "\n".join(["FIND low"] * 150 + ["FIND critical"])
    result = (await scan_batch(a_tool(), [skill("many", text)], QUICK)).results["many"]
    assert (len(result.findings), result.left_out) == (MAX_FINDINGS, 51)
    assert result.findings[0].severity is Severity.CRITICAL


async def test_excerpts_contain_no_secrets() -> None:
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
def test_files_are_named_by_their_type(path: str, content: bytes, kind: str) -> None:
    """names can neither hide a program nor instruct a tool."""
    assert kind_of(path, content) == kind


@pytest.mark.parametrize(
    "said", [b"# nosemgrep", b"// NOSEM", b"# kingfisher:ignore", b"// njsscan-ignore: eval", b"# gitleaks:allow"]
)
def test_suppression_comments_are_ignored(said: bytes) -> None:
    assert SUPPRESSION_COMMENTS.search(said)
