"""Output about submissions: the results of submitting, the verdicts and the most severe findings."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from assay.cli.registry.client import Registry
from assay.cli.registry.responses import DetailResponse, FindingResponse
from assay.cli.registry.submissions import SubmitResult
from assay.cli.ui.exit_codes import IN_PROGRESS, STATE_EXIT_CODES, Exit
from assay.cli.ui.terminal import SEVERITY_COLOURS, cell, make_table, print_line, state_cell
from assay.model.finding import Severity
from assay.model.submission import State

MAX_FINDINGS = 3
ALREADY_VERIFIED, NOT_ACCEPTED = "already verified", "not accepted"
WIDEST_OUTCOME, WIDEST_STATE = len(ALREADY_VERIFIED), max(map(len, State))
SEVERITIES = tuple(Severity)


def show_results(console: Console, registry: Registry, results: Sequence[SubmitResult]) -> None:
    """Print a line per submitted skill, and the number of skills per outcome."""
    for each in results:
        page = registry.page_of(each.id) if each.id else each.detail
        state = each.state or "–"
        padding = " " * max(0, WIDEST_STATE - len(state))
        print_line(
            console,
            f"{outcome_label(each):<{WIDEST_OUTCOME}}",
            state_cell(state) + padding,
            each.skill_name or each.target,
            page,
        )
    counts = Counter(outcome_label(each) for each in results)
    print_line(console, ", ".join(f"{number:,} {label}" for label, number in counts.items()) + ".")


def outcome_label(result: SubmitResult) -> str:
    """Return the outcome in words; a duplicate that is published and unchanged is "already verified"."""
    if result.outcome == "duplicate" and result.already_verified:
        return ALREADY_VERIFIED
    return NOT_ACCEPTED if result.id is None else result.outcome


def show_verdicts(console: Console, registry: Registry, details: Sequence[DetailResponse]) -> None:
    """Print state, reason and next step of each; then its page and, unless published, the most severe findings."""
    table = make_table("Skill", "State", "Score", "Reason and next step", right=["Score"], whole=["State"])
    for each in details:
        score = "–" if each.score is None else each.score
        table.add_row(cell(each.skill_name), state_cell(each.state), cell(score), cell(why(each)))
    console.print(table)
    console.print()
    for each in details:
        print_line(console, f"{each.skill_name}:", page_for(registry, each))
        if STATE_EXIT_CODES.get(each.state) in (Exit.REFUSED, Exit.NEEDS_REVIEW):
            _show_worst(console, each)


def _show_worst(console: Console, detail: DetailResponse) -> None:
    findings = worst_findings(detail)
    for each in findings[:MAX_FINDINGS]:
        severity = cell(f"  {each.severity}", SEVERITY_COLOURS.get(each.severity, ""))
        print_line(console, severity, f"{each.rule_id} {each.file}:{each.line}: {each.message}")
    if len(findings) > MAX_FINDINGS:
        print_line(console, f"  and {len(findings) - MAX_FINDINGS:,} more: assay queue show {detail.id}")


def worst_findings(detail: DetailResponse) -> list[FindingResponse]:
    """Return the findings of the newest scan, the most severe first."""
    findings = detail.scan_results[0].findings if detail.scan_results else []
    return sorted(findings, key=lambda each: (_rank(each.severity), -each.confidence))


def why(detail: DetailResponse) -> str:
    """Return the reason and the next step as one text, without repeating either."""
    if detail.state in IN_PROGRESS:
        return "in progress"
    reason = detail.reason.message if detail.reason else ""
    if detail.state == State.PUBLISHED:
        return reason or "no danger was found; listed with a signed hallmark"
    step = detail.next_step or (detail.reason.next_step if detail.reason else None) or ""
    return step if reason and reason.rstrip(".") in step else " ".join(filter(None, (reason, step)))


def page_for(registry: Registry, detail: DetailResponse) -> str:
    """Return the URL of the listing if there is one, else that of the submission."""
    if detail.state == State.PUBLISHED and detail.published_skill_name:
        return f"{registry.base_url}/skills/{detail.published_skill_name}"
    return registry.page_of(detail.id)


def _rank(severity: str) -> int:
    return SEVERITIES.index(Severity(severity)) if severity in set(SEVERITIES) else len(SEVERITIES)
