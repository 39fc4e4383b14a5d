"""`assay queue`: an overview of the queue, once or live."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assay.cli.process.stopping import run_async
from assay.cli.queue.lists import submission_table
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import HealthResponse, PageResponse, PausedResponse, read_response
from assay.cli.registry.submissions import SUBMISSIONS
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import cell, open_console, print_json
from assay.cli.ui.times import format_duration
from assay.model.errors import NotFound, Unavailable
from assay.model.submission import StateGroup

REFRESH_SECONDS = 2
MAX_SHOWN = 10


@dataclass(frozen=True)
class Overview:
    """Responses read at about the same time; `health` is None for an older registry."""

    stats: Json
    health: Json | None
    active: Json
    newest: Json


def overview(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Print the overview once, even on a terminal.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Watch the queue; with the internal key, manage it.

    Without a subcommand, show the number of submissions per state, alarms, and the submissions in progress. On a
    terminal, the overview is updated until Ctrl-C.
    """
    if ctx.invoked_subcommand is not None:
        return
    console = open_console()
    try:
        run_async(_watch(console, url, is_live=console.is_interactive and not once, as_json=as_json))
    except KeyboardInterrupt:
        raise typer.Exit from None


async def _watch(console: Console, url: str | None, *, is_live: bool, as_json: bool) -> None:
    async with open_registry(url) as registry:
        seen = await _read(registry)
        if as_json:
            print_json(_document(seen))
        elif not is_live:
            console.print(_render(seen, console))
        else:
            await _live(console, registry, seen)


async def _live(console: Console, registry: Registry, seen: Overview) -> None:
    with Live(_render(seen, console), console=console, screen=False, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                live.update(_render(await _read(registry), console), refresh=True)
            except Unavailable as problem:
                live.update(cell(problem.message, "red"), refresh=True)


async def _read(registry: Registry) -> Overview:
    stats, health, active, newest = await asyncio.gather(
        registry.get(f"{SUBMISSIONS}/stats"),
        _health(registry),
        registry.get(SUBMISSIONS, category=StateGroup.ACTIVE.value, sort="processingOrder", limit=MAX_SHOWN),
        registry.get(SUBMISSIONS, limit=MAX_SHOWN),
    )
    return Overview(stats, health, active, newest)


async def _health(registry: Registry) -> Json | None:
    try:
        return await registry.get("/api/v1/queue/health")
    except NotFound:
        return None


def _document(seen: Overview) -> Json:
    return {
        "stats": seen.stats,
        "health": seen.health,
        "active": seen.active["submissions"],
        "newest": seen.newest["submissions"],
        "queuePositions": {**seen.newest.get("queuePositions", {}), **seen.active.get("queuePositions", {})},
    }


def _render(seen: Overview, console: Console) -> RenderableType:
    health = read_response(HealthResponse, seen.health) if seen.health is not None else None
    lines = _health_lines(health) if health else [Text("This registry does not report the health of its queue.")]
    return Group(_counts(seen.stats), *lines, Text(), _submissions(seen, console))


def _counts(stats: Json) -> Text:
    named = [f"{stats[category.value]:,} {category.value}" for category in StateGroup]
    return cell(f"{stats['total']:,} submissions: {', '.join(named)}; {stats['skills']:,} skills are listed.")


def _health_lines(health: HealthResponse) -> list[Text]:
    state = cell("The queue is degraded.", "red") if health.degraded else cell("The queue is healthy.", "green")
    oldest, drain = health.oldest_waiting, health.drain_rate
    waited = f", the oldest for {format_duration(oldest.age_ms)}" if oldest else ""
    waiting = f"{health.waiting:,} waiting{waited}. Decided: {drain.last_1h:,} in 1 h, {drain.last_6h:,} in 6 h."
    return [state, cell(waiting), *_pause_line(health.paused), *_alarm_lines(health)]


def _pause_line(paused: PausedResponse | None) -> list[Text]:
    return [cell(f"Paused until {_moment(paused.until)}: {paused.reason}", "yellow")] if paused else []


def _alarm_lines(health: HealthResponse) -> list[Text]:
    """Return a line per alarm, except for a pause, which has its own line."""
    colour = "red" if health.degraded else "yellow"
    alarms = [each for each in health.alarms if health.paused is None or each.code != "paused"]
    return [cell(f"{each.code}: {each.message} (since {_moment(each.since)})", colour) for each in alarms]


def _submissions(seen: Overview, console: Console) -> Table:
    """Return the submissions in progress, in processing order, followed by the newest."""
    active, newest = read_response(PageResponse, seen.active), read_response(PageResponse, seen.newest)
    positions = {**newest.queue_positions, **active.queue_positions}
    rows = {each.id: each for each in (*active.submissions, *newest.submissions)}
    return submission_table(console, list(rows.values()), positions)


def _moment(when: datetime) -> str:
    return f"{when.astimezone():%Y-%m-%d %H:%M}"
