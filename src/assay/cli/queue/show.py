"""`assay queue show`: one submission with everything that happened to it."""

from typing import Annotated

import typer
from rich.console import Console

from assay.cli.process.stopping import run_command
from assay.cli.queue.ids import read_id
from assay.cli.registry.admissions import SUBMISSIONS
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.responses import DetailRead, read
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.submissions import SEVERITY_COLOURS, page_for, why, worst_findings
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import shown_duration

Submission = Annotated[str, typer.Argument(metavar="ID", help="Id of a submission, or the address of its page.")]


def show(submission: Submission, url: Url = None, as_json: AsJson = False) -> None:
    """Show one submission: where it stands and why, its history, how long each stage took, what was found."""
    submission_id = read_id(submission)
    run_command(_show(url, f"{SUBMISSIONS}/{submission_id}", as_json=as_json))


async def _show(url: str | None, path: str, *, as_json: bool) -> None:
    async with open_registry(url) as registry:
        answer = await registry.get(path)
        if as_json:
            print_json(answer)
        else:
            _print(open_console(), registry, read(DetailRead, answer))


def _print(console: Console, registry: Registry, detail: DetailRead) -> None:
    print_line(console, cell(detail.skill_name, "bold"), f"of {detail.repository}, {detail.skill_path}")
    score = "" if detail.score is None else f", score {detail.score}"
    print_line(console, state_cell(detail.state), f"({detail.source}{score})")
    for line in (_place(detail), why(detail), page_for(registry, detail)):
        if line:
            print_line(console, line)
    console.print()
    _print_history(console, detail)
    _print_findings(console, detail)


def _place(detail: DetailRead) -> str:
    if detail.position is None:
        return ""
    eta = "" if detail.eta_seconds is None else f"; about {shown_duration(detail.eta_seconds * 1000)} to go"
    return f"Number {detail.position:,} in the queue{eta}."


def _print_history(console: Console, detail: DetailRead) -> None:
    table = a_table("When", "State", "What", "Who")
    for each in detail.state_history:
        when = f"{each.created_at.astimezone():%Y-%m-%d %H:%M:%S}"
        table.add_row(cell(when), state_cell(each.to_state), cell(each.trigger), cell(each.actor))
    console.print(table)
    timings = detail.stage_timings
    scanning = "" if timings.ms_in_scanning is None else f", examined in {shown_duration(timings.ms_in_scanning)}"
    total = shown_duration(timings.total_ms)
    print_line(console, f"Waited {shown_duration(timings.ms_in_received)}{scanning}, {total} in all.")


def _print_findings(console: Console, detail: DetailRead) -> None:
    findings = worst_findings(detail)
    if not findings:
        return
    console.print()
    table = a_table("Severity", "Rule", "Where", "What")
    for each in findings:
        severity = cell(each.severity, SEVERITY_COLOURS.get(each.severity, ""))
        table.add_row(severity, cell(each.rule_id), cell(f"{each.file}:{each.line}"), cell(each.message))
    console.print(table)
