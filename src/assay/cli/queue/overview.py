"""`assay queue`: how the queue is, once or live."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assay.cli.process.stopping import run_until_done
from assay.cli.queue.table import submission_table
from assay.cli.registry.admissions import SUBMISSIONS
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import HealthRead, PageRead, PausedRead, read
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import cell, open_console, print_json
from assay.cli.ui.times import shown_duration
from assay.model.errors import NotFound, Unavailable
from assay.model.submission import Category

REFRESH_SECONDS = 2
SHOWN = 10


@dataclass(frozen=True)
class Overview:
    """The answers of one moment, or nearly; an old registry says nothing of its health."""

    stats: Json
    health: Json | None
    active: Json
    newest: Json


def overview(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Show it once, also on a terminal.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Watch the queue; with the key of the registry, steer it.

    Without a verb: how many submissions stand where, what is wrong, what is under way; live on a terminal.
    """
    if ctx.invoked_subcommand is not None:
        return
    console = open_console()
    try:
        run_until_done(_watch(console, url, is_live=console.is_interactive and not once, as_json=as_json))
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
        registry.get(SUBMISSIONS, category=Category.ACTIVE.value, sort="processingOrder", limit=SHOWN),
        registry.get(SUBMISSIONS, limit=SHOWN),
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
    health = read(HealthRead, seen.health) if seen.health is not None else None
    lines = _health_lines(health) if health else [Text("This registry does not say how its queue is.")]
    return Group(_counts(seen.stats), *lines, Text(), _submissions(seen, console))


def _counts(stats: Json) -> Text:
    named = [f"{stats[category.value]:,} {category.value}" for category in Category]
    return cell(f"{stats['total']:,} submissions: {', '.join(named)}; {stats['skills']:,} skills are listed.")


def _health_lines(health: HealthRead) -> list[Text]:
    state = cell("The queue is degraded.", "red") if health.degraded else cell("The queue is well.", "green")
    oldest, drain = health.oldest_waiting, health.drain_rate
    waited = f", the oldest for {shown_duration(oldest.age_ms)}" if oldest else ""
    waiting = f"{health.waiting:,} wait{waited}. Decided: {drain.last_1h:,} in 1 h, {drain.last_6h:,} in 6 h."
    return [state, cell(waiting), *_pause_line(health.paused), *_alarm_lines(health)]


def _pause_line(paused: PausedRead | None) -> list[Text]:
    return [cell(f"Paused until {_moment(paused.until)}: {paused.reason}", "yellow")] if paused else []


def _alarm_lines(health: HealthRead) -> list[Text]:
    """A pause is an alarm, too, but has a line of its own."""
    colour = "red" if health.degraded else "yellow"
    alarms = [each for each in health.alarms if health.paused is None or each.code != "paused"]
    return [cell(f"{each.code}: {each.message} (since {_moment(each.since)})", colour) for each in alarms]


def _submissions(seen: Overview, console: Console) -> Table:
    """What is under way, in the order of processing, and then the newest."""
    active, newest = read(PageRead, seen.active), read(PageRead, seen.newest)
    positions = {**newest.queue_positions, **active.queue_positions}
    rows = {each.id: each for each in (*active.submissions, *newest.submissions)}
    return submission_table(console, list(rows.values()), positions)


def _moment(when: datetime) -> str:
    return f"{when.astimezone():%Y-%m-%d %H:%M}"
