"""Output of `assay scan`: one reproducible document, safe on a terminal."""

import json
from pathlib import Path

import pytest

from assay.model.source import Source
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from tests.support.cli.here import assay_here
from tests.support.cli.skills_here import below, rules, skills_of, written
from tests.support.skills import a_bad_skill, a_repository, a_skill


def test_json_document(folder: Path) -> None:
    """Uses the terms of the API; a finding names the rules it replaces and its references."""
    files = {"SKILL.md": a_skill("magic", body="Say xyzzy.\nSay [bold]\x1b[31m xyzzy.")}
    written(folder / "magic", files)
    ran = assay_here("scan", "magic", "--format", "json", "--fail-on", "low", "--ruleset", rules(folder))
    document = ran.json
    assert (ran.code, document["exitCode"], document["failOn"], document["formatVersion"]) == (1, 1, "low", 1)
    assert document["engine"] == ENGINE
    assert document["ruleset"].startswith("sha256:")
    assert document["ruleset"] != load_ruleset().version
    assert document["counts"] == {"pass": 1, "concerns": 0, "fail": 0, "error": 0}
    assert document["errors"] == []
    (skill,) = document["skills"]
    source = Source({path: text.encode() for path, text in files.items()}, "")
    assert (skill["name"], skill["place"], skill["commit"], skill["digest"]) == ("magic", "magic", None, source.digest)
    assert (skill["outcome"], skill["score"], skill["decision"], skill["hasCode"]) == ("PASS", 97, "approve", False)
    assert set(skill["capabilities"]) == {"hosts", "programs", "environment", "outsideFiles", "tools"}
    finding = next(each for each in skill["findings"] if each["line"] == 8)
    assert {name: finding[name] for name in ("ruleId", "replaces", "references", "family", "severity", "file")} == {
        "ruleId": "HR-001",
        "replaces": ["OLD-7"],
        "references": ["CWE-78", "LLM01:2025"],
        "family": "house_rules",
        "severity": "low",
        "file": "SKILL.md",
    }
    assert (finding["message"], finding["rationale"]) == ("The word is xyzzy", "Nobody says that any more.")
    assert (finding["remediation"], finding["region"]) == ("Say something else.", "prose")
    assert "\x1b" not in ran.out


def test_scanned_text_cannot_control_the_terminal(folder: Path) -> None:
    written(folder / "x", {"SKILL.md": a_skill('"[red]\\e[31mx"', body="Say [bold]\x1b[31m xyzzy.")})
    ran = assay_here("scan", "x", "--ruleset", rules(folder))
    assert "[red]\\x1b[31mx (x)" in ran.out
    assert "Say [bold]" in ran.out
    assert "\x1b" not in ran.out


def test_parallel_scan_has_the_same_results(folder: Path) -> None:
    """In skill order, byte-identical, and silent on standard error without a terminal."""
    files = {f"s{number:02}/SKILL.md": a_skill(f"s{number:02}", body="Say xyzzy.") for number in range(59)}
    written(folder / "skills", files | below("bad", a_bad_skill()))
    own = rules(folder)
    first, second = (assay_here("scan", "skills", "--format", "json", "--ruleset", own) for _ in range(2))
    assert first == second
    assert (first.code, first.err) == (1, "")
    shown = first.json["skills"]
    assert [skill["place"] for skill in shown] == ["skills/bad", *(f"skills/s{number:02}" for number in range(59))]
    alone = skills_of("skills/s07", "--ruleset", own)
    assert shown[8] == alone["skills/s07"]
    assert [finding["ruleId"] for finding in shown[8]["findings"]] == ["HR-001"]


def test_output_file_and_table(folder: Path) -> None:
    """The document goes to the file, the table to standard output."""
    written(folder / "steal", a_bad_skill())
    table = assay_here("scan", "steal")
    for form in ("json", "sarif"):
        printed = assay_here("scan", "steal", "--format", form)
        ran = assay_here("scan", "steal", "--format", form, "--output", f"out.{form}")
        assert ran == table
        assert json.loads((folder / f"out.{form}").read_text()) == printed.json
    assert assay_here("scan", "steal", "--output", "out.txt") == table
    assert (folder / "out.txt").read_text() == table.out


def test_progress_bar_is_shown_on_a_terminal_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error."""
    written(folder, a_repository("pdf", "csv"))
    monkeypatch.setenv("TERM", "xterm")
    seen, unseen = (assay_here("scan", ".", "--format", "json", terminal=terminal) for terminal in (True, False))
    assert ("Scanning" in seen.err, unseen.err) == (True, "")
    assert seen.out == unseen.out
