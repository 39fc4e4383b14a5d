"""`assay crawl`: looks for skills, each source in its own rhythm, or once."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated

import structlog
import typer
from rich.live import Live
from rich.table import Table

from assay import settings
from assay.app.app import open_app
from assay.app.discovery import discovery_asked, known_repositories, open_crawler
from assay.cli.process.stopping import run_command, run_until_done, stopping_event
from assay.cli.ui.exits import Exit, worst
from assay.cli.ui.logs import set_up_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line
from assay.discover.all_sources import named
from assay.discover.crawl import Asked, Crawler, Progress
from assay.discover.dry_run import DryRun, try_out
from assay.discover.schedule import register, run_once, run_schedule
from assay.discover.source import Source
from assay.model.discovery import MOST_RESULTS, RunOutcome, Tally
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from assay.store.discovery.runs import RunRecord

log = structlog.get_logger()
BY = "assay crawl"
COLUMNS = ("found", "new", "known", "enqueued", "errors", "calls")
EXIT_OF_OUTCOME = {
    RunOutcome.RATE_LIMITED: Exit.UNAVAILABLE,
    RunOutcome.FAILED: Exit.UNAVAILABLE,
    RunOutcome.TIMEOUT: Exit.STILL_WAITING,
    RunOutcome.LOST: Exit.IN_THE_WAY,
}


def crawl(
    source: Annotated[
        str | None, typer.Argument(help="Only this source; all that are set up if none is named.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken; write nothing.")] = False,
    most: Annotated[
        int | None, typer.Option("--max", min=1, max=MOST_RESULTS, help="New repositories at the most, of each source.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run each source once, now, and end.")] = False,
    as_json: AsJson = False,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Look for skills. Start it as often as you like: each source is run by one of them at a time.

    Without --once or --dry-run it goes on until it is stopped, each source in its own rhythm. On a terminal a table
    shows how far each of them is.

    Exit codes:
    0  done
    3  there is no such source
    4  a source is run by another process
    5  a source does not answer, or asks to wait
    8  a source took longer than it may; the next run goes on there
    """
    chosen = settings.with_secrets(settings.read())
    if not (once or dry_run):
        set_up_logs("crawler")
        run_until_done(_keep_crawling(chosen, source, most, supervised=supervised))
        return
    set_up_logs("crawl")
    raise typer.Exit(run_command(_crawl_once(chosen, source, most, dry_run=dry_run, as_json=as_json)))


async def _keep_crawling(chosen: Settings, source: str | None, most: int | None, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    async with open_app(chosen, application="assay crawl") as app, open_crawler(app) as crawler:
        sources = named(crawler.sources, source)
        # Whoever runs one source only does not say of the others that they should not run.
        if source is None:
            await register(app.store, sources, known_repositories(chosen))
            _tell_of_the_others(chosen, sources)
        asked = discovery_asked(chosen, BY, max_results=most)
        with _watching(sources, shown=not supervised) as show:
            async with heartbeat(app.store, "crawler"):
                await run_schedule(replace(crawler, sources=sources, show=show), asked, stopping)


def _tell_of_the_others(chosen: Settings, sources: Sequence[Source]) -> None:
    """A setting that got lost, a token above all, must not take a source with it in silence."""
    if missing := set(chosen.discovery_sources) - {each.name for each in sources}:
        log.warning("Sources that are not set up do not run", sources=", ".join(sorted(missing)))


async def _crawl_once(chosen: Settings, source: str | None, most: int | None, *, dry_run: bool, as_json: bool) -> Exit:
    asked = discovery_asked(chosen, BY, max_results=most, is_asked_for=True)
    async with open_app(chosen, application="assay crawl") as app, open_crawler(app) as crawler:
        sources = named(crawler.sources, source)
        with _watching(sources, shown=not as_json) as show:
            crawler = replace(crawler, show=show)
            if dry_run:
                rows = [_row(each.source, each) for each in await _try_all(crawler, sources, asked)]
            else:
                runs = await run_once(crawler, sources, asked)
                rows = [_row(each.name, run) for each, run in zip(sources, runs, strict=True)]
    if as_json:
        print_json({"dryRun": dry_run, "runs": [each.document for each in rows]})
    else:
        _print(rows)
    return worst(each.exit for each in rows)


async def _try_all(crawler: Crawler, sources: Sequence[Source], asked: Asked) -> list[DryRun]:
    return await asyncio.gather(*(try_out(crawler, each, asked) for each in sources))


@dataclass(frozen=True)
class _Row:
    """What is shown of a run."""

    source: str
    outcome: str
    tally: Tally
    calls: int = 0
    problem: str | None = None
    exit: Exit = Exit.DONE
    new: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """In the order of the columns."""
        tally = self.tally
        return [tally.found, tally.new, tally.skipped_dedup, tally.enqueued, tally.errors, self.calls]

    @property
    def document(self) -> dict[str, object]:
        """As JSON."""
        tally = self.tally
        return {
            "source": self.source,
            "outcome": self.outcome,
            "found": tally.found,
            "new": tally.new,
            "skippedDedup": tally.skipped_dedup,
            "enqueued": tally.enqueued,
            "existing": tally.existing,
            "errors": tally.errors,
            "calls": self.calls,
            "repoStats": tally.repo_stats,
            "problem": self.problem,
            "newRepositories": self.new,
        }


def _row(name: str, run: RunRecord | DryRun | None) -> _Row:
    if run is None:
        return _Row(name, "busy", Tally(), problem="It is run by another process.", exit=Exit.IN_THE_WAY)
    outcome = run.outcome or RunOutcome.STOPPED
    new = run.new if isinstance(run, DryRun) else []
    code = EXIT_OF_OUTCOME.get(outcome, Exit.DONE)
    return _Row(name, outcome.value, run.tally, run.calls, run.problem, code, new)


@contextmanager
def _watching(sources: Sequence[Source], *, shown: bool) -> Iterator[Callable[[Progress], None]]:
    """A table that fills on a terminal, below the log; nothing elsewhere, where the log says enough."""
    console = open_console(stderr=True)
    rows = {each.name: _Row(each.name, "waiting", Tally()) for each in sources}
    if not shown or not console.is_interactive:
        yield lambda _: None
        return
    with Live(_table(list(rows.values())), console=console, transient=True) as live:

        def show(progress: Progress) -> None:
            outcome = progress.outcome.value if progress.outcome else "running"
            rows[progress.source] = _Row(progress.source, outcome, replace(progress.tally), progress.calls)
            live.update(_table(list(rows.values())))

        yield show


def _print(rows: Sequence[_Row]) -> None:
    console = open_console()
    if console.is_interactive:
        console.print(_table(rows))
    for row in rows:
        if not console.is_interactive:
            numbers = " ".join(f"{name}={number}" for name, number in zip(COLUMNS, row.numbers, strict=True))
            print_line(console, row.source, row.outcome, numbers)
        for name in row.new:
            print_line(console, row.source, "would take", name)
        if row.problem:
            print_line(console, row.source, row.problem)


def _table(rows: Sequence[_Row]) -> Table:
    table = a_table("source", "outcome", *COLUMNS, right=COLUMNS)
    for row in rows:
        table.add_row(cell(row.source), cell(row.outcome), *(f"{number:,}" for number in row.numbers))
    return table
