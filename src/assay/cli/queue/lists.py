"""`assay queue list` and `stuck`, and the table of submissions."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from assay.cli.process.stopping import run_command
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.credentials import admin_credential
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import PageResponse, StuckPageResponse, SubmissionResponse, read_response
from assay.cli.registry.submissions import SUBMISSIONS
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import cell, make_table, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import format_duration
from assay.model.submission import Origin, State, StateGroup

MAX_PAGE_SIZE, MAX_ROWS, DEFAULT_ROWS = 500, 10_000, 50
# The table has all columns from this width on.
WIDE = 120
# The registry counts positions up to this one; a larger number means "further back".
LAST_POSITION = 10_000
Limit = Annotated[int, typer.Option("--limit", min=1, max=MAX_ROWS, help="Maximum number of rows.")]


def list_submissions(
    state: Annotated[
        State | None, typer.Option("--state", help="Only submissions in this state.", case_sensitive=False)
    ] = None,
    category: Annotated[
        StateGroup | None, typer.Option("--category", help="Only submissions in this group of states.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only submissions with this reason code.")] = None,
    q: Annotated[
        str | None, typer.Option("--q", help="Only submissions with this text in the skill name or owner/repository.")
    ] = None,
    source: Annotated[
        Origin | None, typer.Option("--source", help="Only submissions that were sent in this way.")
    ] = None,
    limit: Limit = DEFAULT_ROWS,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List submissions, the newest first."""
    filters = {"state": state, "category": category, "reason": reason, "q": q, "source": source}
    run_command(_list(url, filters, limit, as_json=as_json))


def stuck(limit: Limit = DEFAULT_ROWS, url: Url = None, as_json: AsJson = False) -> None:
    """List stuck submissions with the cause, the longest stuck first. Requires the internal key."""
    run_command(_stuck(url, limit, as_json=as_json))


async def _list(url: str | None, filters: Mapping[str, object], limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url) as registry:
        response = await _pages(registry, SUBMISSIONS, "submissions", filters, limit)
    if as_json:
        print_json(response)
        return
    page = read_response(PageResponse, response)
    if page.submissions:
        console.print(submission_table(console, page.submissions, page.queue_positions))
    at_least = "" if page.total_is_exact else "at least "
    print_line(console, f"{len(page.submissions):,} of {at_least}{page.total:,}.")


async def _stuck(url: str | None, limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_credential) as registry:
        response = await _pages(registry, "/api/v1/admin/queue/stuck", "stuck", {}, limit)
    if as_json:
        print_json(response)
        return
    page = read_response(StuckPageResponse, response)
    if not page.stuck:
        print_line(console, "No submission is stuck.")
        return
    table = make_table("Skill", "State", "For", "Cause", "Id", whole=["State", "Id"])
    for each in page.stuck:
        duration = format_duration(each.stuck_for_ms)
        table.add_row(cell(each.skill_name), state_cell(each.state), cell(duration), cell(each.why), cell(each.id))
    console.print(table)
    if page.next_cursor:
        print_line(console, "There are more: increase --limit.")


async def _pages(registry: Registry, path: str, key: str, filters: Mapping[str, object], limit: int) -> Json:
    """Read as many pages as the limit needs, and return the first one with the rows of all."""
    first: Json = {}
    cursor: object = None
    while True:
        left = limit - len(first.get(key, []))
        page = await registry.get(path, **filters, limit=min(left, MAX_PAGE_SIZE), cursor=cursor)
        first = {**page, **first, key: [*first.get(key, []), *page[key]], "nextCursor": page["nextCursor"]}
        if "queuePositions" in page:
            first["queuePositions"] = {**first["queuePositions"], **page["queuePositions"]}
        cursor = page["nextCursor"]
        if cursor is None or len(first[key]) >= limit:
            return first


def submission_table(console: Console, submissions: list[SubmissionResponse], positions: dict[str, int]) -> Table:
    """Return a table with a row per submission; a narrow terminal gets fewer columns."""
    more = ("Repository", "Score", "Reason") if console.width >= WIDE else ()
    table = make_table(
        "Skill", "State", "Position", "Age", *more, "Id", right=("Position", "Score"), whole=("State", "Id")
    )
    for each in submissions:
        optional = {
            "Repository": each.repository,
            "Score": "–" if each.score is None else each.score,
            "Reason": each.reason.code if each.reason else "–",
        }
        table.add_row(
            cell(each.skill_name),
            state_cell(each.state),
            cell(_position(positions.get(str(each.id)))),
            cell(_age(each.created_at)),
            *(cell(optional[heading]) for heading in more),
            cell(each.id),
        )
    return table


def _position(number: int | None) -> str:
    if number is None:
        return "–"
    return f"{number:,}" if number <= LAST_POSITION else f"over {LAST_POSITION:,}"


def _age(created_at: datetime) -> str:
    return format_duration(max(0, (datetime.now(UTC) - created_at).total_seconds() * 1000))
