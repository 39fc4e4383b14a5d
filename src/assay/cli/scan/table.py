"""A scan for people: a line for each skill, and below it what was found, where, why that matters, and how to fix it."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Console

from assay.cli.scan.outcome import SEVERITIES, Scan
from assay.cli.scan.skill import Examined
from assay.cli.ui.terminal import cell, print_line
from assay.model.finding import Finding
from assay.model.verdict import Outcome
from assay.scan.rule import Rule

SHOWN_PLACES = 5
OUTCOME_COLOURS = {Outcome.PASS: "green", Outcome.CONCERNS: "yellow", Outcome.FAIL: "bold red"}
SEVERITY_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow"}
WIDEST_OUTCOME = max(map(len, OUTCOME_COLOURS))


def show_scan(console: Console, scan: Scan) -> None:
    """All skills in order; several end in a line that counts them."""
    rules = {rule.id: rule for rule in scan.ruleset.rules}
    for each in scan.examined:
        _show_skill(console, each, rules)
    if len(scan.results) > 1:
        print_line(console, _summary(scan))


def _show_skill(console: Console, skill: Examined, rules: Mapping[str, Rule]) -> None:
    outcome = skill.verdict.outcome
    word = cell(f"{outcome:<{WIDEST_OUTCOME}}", OUTCOME_COLOURS.get(outcome, ""))
    print_line(console, word, f"{skill.verdict.score:>3}", cell(skill.name, "bold"), f"({skill.place})")
    for findings in _grouped(skill.report.findings):
        _show_findings(console, skill, findings, rules.get(findings[0].rule_id))
    if skill.report.findings:
        console.print()


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """What is the same at several places stands together; the worst come first."""

    def key(each: Finding) -> tuple[int, str, str]:
        return SEVERITIES.index(each.severity), each.rule_id, each.message

    return [list(group) for _, group in groupby(sorted(findings, key=key), key=key)]


def _show_findings(console: Console, skill: Examined, findings: list[Finding], rule: Rule | None) -> None:
    first = findings[0]
    severity = cell(f"  {first.severity:<8}", SEVERITY_COLOURS.get(first.severity, ""))
    surest = max(each.confidence for each in findings)
    print_line(console, severity, first.rule_id, first.message, f"({surest:.0%} sure)")
    for each in findings[:SHOWN_PLACES]:
        print_line(console, f"    {skill.place.path_of(each.file)}:{each.line}", cell(each.excerpt, "dim"))
    if len(findings) > SHOWN_PLACES:
        print_line(console, f"    and at {len(findings) - SHOWN_PLACES:,} more places")
    if rule is not None:
        print_line(console, "    why:", _in_one_line(rule.rationale))
    print_line(console, "    fix:", _in_one_line(first.remediation))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _summary(scan: Scan) -> str:
    counts = ", ".join(f"{scan.counts[outcome]:,} {outcome.lower()}" for outcome in OUTCOME_COLOURS)
    failed = f"; {len(scan.failed):,} could not be scanned" if scan.failed else ""
    return f"{len(scan.examined):,} {'skill' if len(scan.examined) == 1 else 'skills'}: {counts}{failed}."
