"""Submissions for people: what became of what was sent, where each stands, and the worst that was found."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from assay.cli.registry.admissions import Admission
from assay.cli.registry.client import Registry
from assay.cli.registry.responses import DetailRead, FindingRead
from assay.cli.ui.exits import EXIT_OF_STATE, UNDER_WAY, Exit
from assay.cli.ui.terminal import a_table, cell, print_line, state_cell
from assay.model.finding import Severity
from assay.model.submission import State

SHOWN_FINDINGS = 3
ALREADY_VERIFIED, NOT_ACCEPTED = "already verified", "not accepted"
WIDEST_OUTCOME, WIDEST_STATE = len(ALREADY_VERIFIED), max(map(len, State))
SEVERITIES = tuple(Severity)
SEVERITY_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow"}


def show_admissions(console: Console, registry: Registry, admissions: Sequence[Admission]) -> None:
    """A line for each skill that was sent, and how many ended how."""
    for each in admissions:
        page = registry.page_of(each.id) if each.id else each.detail
        state = each.state or "–"
        padding = " " * max(0, WIDEST_STATE - len(state))
        print_line(
            console,
            f"{words_for(each):<{WIDEST_OUTCOME}}",
            state_cell(state) + padding,
            each.skill_name or each.target,
            page,
        )
    counts = Counter(words_for(each) for each in admissions)
    print_line(console, ", ".join(f"{number:,} {words}" for words, number in counts.items()) + ".")


def words_for(admission: Admission) -> str:
    """What became of it; what is published and has not changed is neither new nor under way."""
    if admission.outcome == "duplicate" and admission.already_verified:
        return ALREADY_VERIFIED
    return NOT_ACCEPTED if admission.id is None else admission.outcome


def show_verdicts(console: Console, registry: Registry, details: Sequence[DetailRead]) -> None:
    """Where each stands, why, and what to do next; then its page, and of what is not published the worst findings."""
    table = a_table("Skill", "State", "Score", "Why, and what to do next", right=["Score"], whole=["State"])
    for each in details:
        score = "–" if each.score is None else each.score
        table.add_row(cell(each.skill_name), state_cell(each.state), cell(score), cell(why(each)))
    console.print(table)
    console.print()
    for each in details:
        print_line(console, f"{each.skill_name}:", page_for(registry, each))
        if EXIT_OF_STATE.get(each.state) in (Exit.REFUSED, Exit.NEEDS_REVIEW):
            _show_worst(console, each)


def _show_worst(console: Console, detail: DetailRead) -> None:
    """Rule, file and line of the worst few of the newest scan."""
    findings = worst_findings(detail)
    for each in findings[:SHOWN_FINDINGS]:
        severity = cell(f"  {each.severity}", SEVERITY_COLOURS.get(each.severity, ""))
        print_line(console, severity, f"{each.rule_id} {each.file}:{each.line}: {each.message}")
    if len(findings) > SHOWN_FINDINGS:
        print_line(console, f"  and {len(findings) - SHOWN_FINDINGS:,} more: assay queue show {detail.id}")


def worst_findings(detail: DetailRead) -> list[FindingRead]:
    """Those of the newest scan, worst first."""
    findings = detail.scan_results[0].findings if detail.scan_results else []
    return sorted(findings, key=lambda each: (_rank(each.severity), -each.confidence))


def why(detail: DetailRead) -> str:
    """The reason and the next step, once each."""
    if detail.state in UNDER_WAY:
        return "still under way"
    reason = detail.reason.message if detail.reason else ""
    if detail.state == State.PUBLISHED:
        return reason or "nothing dangerous was found; listed with a signed hallmark"
    step = detail.next_step or (detail.reason.next_step if detail.reason else None) or ""
    return step if reason and reason.rstrip(".") in step else " ".join(filter(None, (reason, step)))


def page_for(registry: Registry, detail: DetailRead) -> str:
    """Where people look at it: the listing if there is one, else the submission."""
    if detail.state == State.PUBLISHED and detail.published_skill_name:
        return f"{registry.base_url}/skills/{detail.published_skill_name}"
    return registry.page_of(detail.id)


def _rank(severity: str) -> int:
    return SEVERITIES.index(Severity(severity)) if severity in set(SEVERITIES) else len(SEVERITIES)
