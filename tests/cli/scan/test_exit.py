"""Exit codes of `assay scan`."""

from pathlib import Path

import pytest

from assay.cli.scan.folder import find_in_folder
from assay.cli.scan.outcome import FailOn, ScanRun
from assay.cli.scan.rulesets import start_ruleset
from assay.cli.scan.skill import WORKING_DIRECTORY, ScannedSkill, SkillLocation, scan_skill
from assay.fetch.limits import Limits
from assay.model.finding import Finding, Report, Severity
from assay.policy.policy import Policy, static_verdict
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from assay.scan_pool.rule_folder import read_ruleset
from tests.support.archives import a_zip
from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import RULE, rules, written
from tests.support.skills import a_bad_skill, a_skill


def test_fail_on_decides_the_exit_code(folder: Path) -> None:
    """Low, concerning and failing skills against every threshold."""
    own = rules(folder)
    for number, word in enumerate(("plover", "grue"), 2):
        rule = RULE.format(severity="high").replace("HR-001", f"HR-{number:03}").replace("xyzzy", word)
        written(own, {f"{word}.toml": rule})
    written(folder / "skills" / "low", {"SKILL.md": a_skill(body="Say xyzzy.")})
    written(folder / "skills" / "medium", {"SKILL.md": a_skill(body="Say plover to the grue.")})
    written(folder / "skills" / "worst", a_bad_skill())
    ruleset = read_ruleset(own)
    results = [
        scan_skill(each, start_ruleset(ruleset, fast_start=True))
        for each in find_in_folder(folder / "skills", Limits()).skills
    ]
    assert [each.verdict.outcome for each in results] == ["PASS", "CONCERNS", "FAIL"]
    codes = {line: [int(ScanRun(ruleset, line, (each,)).exit) for each in results] for line in FailOn}
    assert codes == {
        FailOn.CONCERNS: [0, 1, 1],
        FailOn.FAIL: [0, 0, 1],
        FailOn.CRITICAL: [0, 0, 1],
        FailOn.HIGH: [0, 1, 1],
        FailOn.MEDIUM: [0, 1, 1],
        FailOn.LOW: [1, 1, 1],
        FailOn.INFO: [1, 1, 1],
        FailOn.NEVER: [0, 0, 0],
    }
    for options, code in (([], 1), (["--fail-on", "fail"], 0), (["--fail-on", "high"], 1), (["--fail-on", "x"], 2)):
        assert assay_here("scan", "skills/medium", "--ruleset", own, *options).code == code


def test_rule_that_could_not_run_is_no_clean_result() -> None:
    """Also below the threshold."""
    finding = Finding("UX-000", "unexamined", Severity.HIGH, 1.0, "SKILL.md", 1, "", "XX-001 failed", "Look.")
    report = Report(ENGINE, "sha256:0", "sha256:1", (finding,), has_code=False, duration_ms=0)
    examined = ScannedSkill(SkillLocation(WORKING_DIRECTORY), "x", report, static_verdict(report, Policy()))
    codes = {
        line: ScanRun(load_ruleset(), line, (examined,)).exit for line in (FailOn.FAIL, FailOn.NEVER, FailOn.CONCERNS)
    }
    assert codes == {FailOn.FAIL: 7, FailOn.NEVER: 7, FailOn.CONCERNS: 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "There is no file or folder 'missing'"),
        (["owner/repository"], "to scan a repository, pass its https:// URL"),
        (["empty"], "There is no SKILL.md in or below 'empty'"),
        (["empty.zip"], "There is no SKILL.md in 'empty.zip'"),
        (["notes.txt"], "'notes.txt' is neither a folder, a SKILL.md nor an archive"),
        (["https://example.com/owner/repository"], "is not an accepted repository"),
        (["greet", "missing"], "'missing'"),
        (["greet", "--ruleset", "missing"], "There is no rule folder 'missing'"),
        (["greet", "--ruleset", "empty"], "contains no rules"),
        (["greet", "--ruleset", "broken"], "mine.toml: rule HR-001: "),
        (["greet", "--ruleset", "unreadable"], "mine.toml: "),
        (["greet", "--ruleset", "flat"], "mine.toml: Rules must be written as [[rule]]"),
        (["greet", "--output", "missing/file"], "--output must be a file in an existing folder"),
    ],
)
def test_invalid_arguments_are_one_line(folder: Path, arguments: list[str], said: str) -> None:
    """Nothing is scanned, and standard output is empty."""
    written(folder, {"greet/SKILL.md": a_skill(), "empty/README.md": "", "notes.txt": "Notes."})
    (folder / "empty.zip").write_bytes(a_zip({"README.md": "Nothing."}))
    written(folder / "broken", {"mine.toml": RULE.format(severity="awful")})
    written(folder / "unreadable", {"mine.toml": "family ="})
    written(folder / "flat", {"mine.toml": 'family = "x"\nrule = "y"\n'})
    ran = assay_here("scan", *arguments)
    assert ran.code == 2
    assert said in one_line(ran)
