"""The table output of a scan: a line per skill, and its findings with locations, rationale and remediation."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Console

from assay.cli.scan.outcome import SEVERITIES, ScanRun
from assay.cli.scan.skill import ScannedSkill
from assay.cli.ui.terminal import SEVERITY_COLOURS, cell, print_line
from assay.model.finding import Finding
from assay.model.verdict import Outcome
from assay.scan.rule import Rule

MAX_LOCATIONS = 5
OUTCOME_COLOURS = {Outcome.PASS: "green", Outcome.CONCERNS: "yellow", Outcome.FAIL: "bold red"}
WIDEST_OUTCOME = max(map(len, OUTCOME_COLOURS))


def show_scan(console: Console, scan: ScanRun) -> None:
    """Print all skills in order, and a summary if there are several."""
    rules = {rule.id: rule for rule in scan.ruleset.rules}
    for each in scan.scanned:
        _show_skill(console, each, rules)
    if len(scan.results) > 1:
        print_line(console, _summary(scan))


def _show_skill(console: Console, skill: ScannedSkill, rules: Mapping[str, Rule]) -> None:
    outcome = skill.verdict.outcome
    word = cell(f"{outcome:<{WIDEST_OUTCOME}}", OUTCOME_COLOURS.get(outcome, ""))
    print_line(console, word, f"{skill.verdict.score:>3}", cell(skill.name, "bold"), f"({skill.location})")
    for findings in _grouped(skill.report.findings):
        _show_findings(console, skill, findings, rules.get(findings[0].rule_id))
    if skill.report.findings:
        console.print()


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group equal findings at several locations; the most severe group comes first."""

    def key(each: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(each.severity), each.rule_id, each.message

    return [list(group) for _, group in groupby(sorted(findings, key=key), key=key)]


def _show_findings(console: Console, skill: ScannedSkill, findings: list[Finding], rule: Rule | None) -> None:
    first = findings[0]
    severity = cell(f"  {first.severity:<8}", SEVERITY_COLOURS.get(first.severity, ""))
    confidence = max(each.confidence for each in findings)
    print_line(console, severity, first.rule_id, first.message, f"({confidence:.0%} confidence)")
    for each in findings[:MAX_LOCATIONS]:
        print_line(console, f"    {skill.location.path_of(each.file)}:{each.line}", cell(each.excerpt, "dim"))
    if len(findings) > MAX_LOCATIONS:
        print_line(console, f"    and {len(findings) - MAX_LOCATIONS:,} more locations")
    if rule is not None:
        print_line(console, "    why:", _in_one_line(rule.rationale))
    print_line(console, "    fix:", _in_one_line(first.remediation))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _summary(scan: ScanRun) -> str:
    counts = ", ".join(f"{scan.counts[outcome]:,} {outcome.lower()}" for outcome in OUTCOME_COLOURS)
    failed = f"; {len(scan.failed):,} could not be scanned" if scan.failed else ""
    return f"{len(scan.scanned):,} {'skill' if len(scan.scanned) == 1 else 'skills'}: {counts}{failed}."
