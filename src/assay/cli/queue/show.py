"""`assay queue show`: one submission with its history and findings."""

from rich.console import Console

from assay.cli.process.stopping import run_command
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.responses import DetailResponse, read_response
from assay.cli.registry.submissions import SUBMISSIONS
from assay.cli.ui.options import AsJson, SubmissionId, Url, read_id
from assay.cli.ui.submissions import page_for, why, worst_findings
from assay.cli.ui.terminal import SEVERITY_COLOURS, cell, make_table, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import format_duration


def show(submission: SubmissionId, url: Url = None, as_json: AsJson = False) -> None:
    """Show one submission: its state and reason, history, time in each stage, and findings."""
    submission_id = read_id(submission)
    run_command(_show(url, f"{SUBMISSIONS}/{submission_id}", as_json=as_json))


async def _show(url: str | None, path: str, *, as_json: bool) -> None:
    async with open_registry(url) as registry:
        response = await registry.get(path)
        if as_json:
            print_json(response)
        else:
            _print(open_console(), registry, read_response(DetailResponse, response))


def _print(console: Console, registry: Registry, detail: DetailResponse) -> None:
    print_line(console, cell(detail.skill_name, "bold"), f"of {detail.repository}, {detail.skill_path}")
    score = "" if detail.score is None else f", score {detail.score}"
    print_line(console, state_cell(detail.state), f"({detail.source}{score})")
    for line in (_position_line(detail), why(detail), page_for(registry, detail)):
        if line:
            print_line(console, line)
    console.print()
    _print_history(console, detail)
    _print_findings(console, detail)


def _position_line(detail: DetailResponse) -> str:
    if detail.position is None:
        return ""
    eta = "" if detail.eta_seconds is None else f"; about {format_duration(detail.eta_seconds * 1000)} remaining"
    return f"Number {detail.position:,} in the queue{eta}."


def _print_history(console: Console, detail: DetailResponse) -> None:
    table = make_table("Time", "State", "Trigger", "Actor")
    for each in detail.state_history:
        when = f"{each.created_at.astimezone():%Y-%m-%d %H:%M:%S}"
        table.add_row(cell(when), state_cell(each.to_state), cell(each.trigger), cell(each.actor))
    console.print(table)
    timings = detail.stage_timings
    scanning = "" if timings.ms_in_scanning is None else f", scanned in {format_duration(timings.ms_in_scanning)}"
    total = format_duration(timings.total_ms)
    print_line(console, f"Waited {format_duration(timings.ms_in_received)}{scanning}, {total} in total.")


def _print_findings(console: Console, detail: DetailResponse) -> None:
    findings = worst_findings(detail)
    if not findings:
        return
    console.print()
    table = make_table("Severity", "Rule", "Location", "Message")
    for each in findings:
        severity = cell(each.severity, SEVERITY_COLOURS.get(each.severity, ""))
        table.add_row(severity, cell(each.rule_id), cell(f"{each.file}:{each.line}"), cell(each.message))
    console.print(table)
