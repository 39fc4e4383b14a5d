"""The exit code: where the line is drawn, and what is no result at all."""

from pathlib import Path

import pytest

from assay.cli.scan.folder import find_in_folder
from assay.cli.scan.outcome import FailOn, Scan
from assay.cli.scan.place import WORKING_DIRECTORY, Place
from assay.cli.scan.rulesets import started
from assay.cli.scan.skill import Examined, examine
from assay.fetch.limits import Limits
from assay.model.finding import Finding, Report, Severity
from assay.policy.policy import Policy, judge_report
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from assay.scan_pool.rule_folder import read_ruleset
from tests.support.archives import a_zip
from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import RULE, rules, written
from tests.support.skills import a_bad_skill, a_skill


def test_the_line_decides_the_code(folder: Path) -> None:
    """A skill that passes with a finding of low severity, one of concern, and one that fails, against every line."""
    own = rules(folder)
    for number, word in enumerate(("plover", "grue"), 2):
        rule = RULE.format(severity="high").replace("HR-001", f"HR-{number:03}").replace("xyzzy", word)
        written(own, {f"{word}.toml": rule})
    written(folder / "skills" / "low", {"SKILL.md": a_skill(body="Say xyzzy.")})
    written(folder / "skills" / "medium", {"SKILL.md": a_skill(body="Say plover to the grue.")})
    written(folder / "skills" / "worst", a_bad_skill())
    ruleset = read_ruleset(own)
    results = [
        examine(each, started(ruleset, quickly=True)) for each in find_in_folder(folder / "skills", Limits()).skills
    ]
    assert [each.verdict.outcome for each in results] == ["PASS", "CONCERNS", "FAIL"]
    codes = {line: [int(Scan(ruleset, line, (each,)).exit) for each in results] for line in FailOn}
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


def test_a_rule_that_could_not_be_tried_is_no_clean_result() -> None:
    """Also below the line: nobody has looked at everything."""
    finding = Finding("UX-000", "unexamined", Severity.HIGH, 1.0, "SKILL.md", 1, "", "XX-001 failed", "Look.")
    report = Report(ENGINE, "sha256:0", "sha256:1", (finding,), has_code=False, duration_ms=0)
    examined = Examined(Place(WORKING_DIRECTORY), "x", report, judge_report(report, Policy()))
    codes = {
        line: Scan(load_ruleset(), line, (examined,)).exit for line in (FailOn.FAIL, FailOn.NEVER, FailOn.CONCERNS)
    }
    assert codes == {FailOn.FAIL: 7, FailOn.NEVER: 7, FailOn.CONCERNS: 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "There is no such file or folder: 'missing'"),
        (["owner/repository"], "a repository is given by its https:// URL"),
        (["empty"], "'empty' holds no SKILL.md"),
        (["empty.zip"], "'empty.zip' contains no SKILL.md"),
        (["notes.txt"], "'notes.txt' is neither a folder, a SKILL.md nor an archive"),
        (["https://example.com/owner/repository"], "is no repository that is accepted"),
        (["greet", "missing"], "'missing'"),
        (["greet", "--ruleset", "missing"], "no such folder of rules: 'missing'"),
        (["greet", "--ruleset", "empty"], "holds no rules"),
        (["greet", "--ruleset", "broken"], "mine.toml: rule HR-001: "),
        (["greet", "--ruleset", "unreadable"], "mine.toml: "),
        (["greet", "--ruleset", "flat"], "mine.toml: rules are written as [[rule]]"),
        (["greet", "--output", "missing/file"], "--output must be a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, arguments: list[str], said: str) -> None:
    """Nothing is scanned, and standard output is empty."""
    written(folder, {"greet/SKILL.md": a_skill(), "empty/README.md": "", "notes.txt": "Notes."})
    (folder / "empty.zip").write_bytes(a_zip({"README.md": "Nothing."}))
    written(folder / "broken", {"mine.toml": RULE.format(severity="awful")})
    written(folder / "unreadable", {"mine.toml": "family ="})
    written(folder / "flat", {"mine.toml": 'family = "x"\nrule = "y"\n'})
    ran = assay_here("scan", *arguments)
    assert ran.code == 2
    assert said in one_line(ran)
