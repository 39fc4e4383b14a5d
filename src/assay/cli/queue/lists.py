"""`assay queue list` and `stuck`: submissions that have something in common."""

from collections.abc import Mapping
from typing import Annotated

import typer

from assay.cli.process.stopping import run_command
from assay.cli.queue.table import submission_table
from assay.cli.registry.address import admin_proof
from assay.cli.registry.admissions import SUBMISSIONS
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import PageRead, StuckPageRead, read
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import shown_duration
from assay.model.submission import Category, Origin, State

LARGEST_PAGE, MOST_ROWS, USUAL_ROWS = 500, 10_000, 50
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST_ROWS, help="How many at most.")]


def list_submissions(
    state: Annotated[State | None, typer.Option("--state", help="Only this state.", case_sensitive=False)] = None,
    category: Annotated[Category | None, typer.Option("--category", help="Only this group of states.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only with this reason code.")] = None,
    q: Annotated[str | None, typer.Option("--q", help="Only with this in the skill's name or owner/repo.")] = None,
    source: Annotated[Origin | None, typer.Option("--source", help="Only what came in this way.")] = None,
    limit: Limit = USUAL_ROWS,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List submissions, the newest first."""
    wanted = {"state": state, "category": category, "reason": reason, "q": q, "source": source}
    run_command(_list(url, wanted, limit, as_json=as_json))


def stuck(limit: Limit = USUAL_ROWS, url: Url = None, as_json: AsJson = False) -> None:
    """List submissions that do not move, the longest stuck first, and why. Needs the key."""
    run_command(_stuck(url, limit, as_json=as_json))


async def _list(url: str | None, wanted: Mapping[str, object], limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url) as registry:
        answer = await _pages(registry, SUBMISSIONS, "submissions", wanted, limit)
    if as_json:
        print_json(answer)
        return
    page = read(PageRead, answer)
    if page.submissions:
        console.print(submission_table(console, page.submissions, page.queue_positions))
    at_least = "" if page.total_is_exact else "at least "
    print_line(console, f"{len(page.submissions):,} of {at_least}{page.total:,}.")


async def _stuck(url: str | None, limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_proof(url)) as registry:
        answer = await _pages(registry, "/api/v1/admin/queue/stuck", "stuck", {}, limit)
    if as_json:
        print_json(answer)
        return
    page = read(StuckPageRead, answer)
    if not page.stuck:
        print_line(console, "Nothing is stuck.")
        return
    table = a_table("Skill", "State", "For", "Why", "Id", whole=["State", "Id"])
    for each in page.stuck:
        duration = shown_duration(each.stuck_for_ms)
        table.add_row(cell(each.skill_name), state_cell(each.state), cell(duration), cell(each.why), cell(each.id))
    console.print(table)
    if page.next_cursor:
        print_line(console, "There are more: raise --limit.")


async def _pages(registry: Registry, path: str, key: str, wanted: Mapping[str, object], limit: int) -> Json:
    """As many pages as the limit needs, as one: the first page with the rows of all."""
    first: Json = {}
    cursor: object = None
    while True:
        left = limit - len(first.get(key, []))
        page = await registry.get(path, **wanted, limit=min(left, LARGEST_PAGE), cursor=cursor)
        first = {**page, **first, key: [*first.get(key, []), *page[key]], "nextCursor": page["nextCursor"]}
        if "queuePositions" in page:
            first["queuePositions"] = {**first["queuePositions"], **page["queuePositions"]}
        cursor = page["nextCursor"]
        if cursor is None or len(first[key]) >= limit:
            return first
