"""`assay crawl`: discover skills, on schedule or once."""

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
from assay.app.discovery import crawl_request, known_repositories, open_crawler
from assay.cli.process.stopping import run_async, run_command, stopping_event
from assay.cli.ui.exit_codes import Exit, most_severe
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import cell, make_table, open_console, print_json, print_line
from assay.discover.all_sources import select_sources
from assay.discover.crawl import Crawler, Progress, RunRequest
from assay.discover.dry_run import DryRun, dry_run_source
from assay.discover.schedule import register, run_once, run_schedule
from assay.discover.source import DiscoverySource
from assay.model.discovery import MAX_RESULTS_PER_RUN, RunCounters, RunOutcome
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from assay.store.discovery.runs import RunRecord

log = structlog.get_logger()
BY = "assay crawl"
COLUMNS = ("found", "new", "known", "enqueued", "errors", "calls")
OUTCOME_EXIT_CODES = {
    RunOutcome.RATE_LIMITED: Exit.UNAVAILABLE,
    RunOutcome.FAILED: Exit.UNAVAILABLE,
    RunOutcome.TIMEOUT: Exit.STILL_WAITING,
    RunOutcome.LOST: Exit.CONFLICT,
}


def crawl(
    source: Annotated[
        str | None, typer.Argument(help="Crawl only this source; default: all configured sources.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the repositories that would be added, and change nothing.")
    ] = False,
    most: Annotated[
        int | None,
        typer.Option("--max", min=1, max=MAX_RESULTS_PER_RUN, help="Maximum number of new repositories per source."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Crawl each source once, now, and exit.")] = False,
    as_json: AsJson = False,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Discover skills in external sources.

    Without --once or --dry-run, it runs until it is stopped and crawls each source on its own schedule. Any number of
    processes may run: each source is crawled by one of them at a time. On a terminal, a table shows the progress.

    Example: assay crawl --once --max 50

    Exit codes:
    0  success
    3  the source does not exist
    4  another process is crawling a source
    5  a source is unavailable or rate-limited
    8  a source exceeded its time limit; the next run continues there
    """
    config = settings.with_secrets(settings.read())
    if not (once or dry_run):
        configure_logs("crawler")
        run_async(_run_schedule(config, source, most, supervised=supervised))
        return
    configure_logs("crawl")
    raise typer.Exit(run_command(_crawl_once(config, source, most, dry_run=dry_run, as_json=as_json)))


async def _run_schedule(config: Settings, source: str | None, most: int | None, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    async with open_app(config, application="assay crawl") as app, open_crawler(app) as crawler:
        sources = select_sources(crawler.sources, source)
        # A process that crawls a single source must not mark the others as disabled.
        if source is None:
            await register(app.store, sources, known_repositories(config))
            _warn_of_missing_sources(config, sources)
        request = crawl_request(config, BY, max_results=most)
        with _live_table(sources, enabled=not supervised) as show:
            async with heartbeat(app.store, "crawler"):
                await run_schedule(replace(crawler, sources=sources, show=show), request, stopping)


def _warn_of_missing_sources(config: Settings, sources: Sequence[DiscoverySource]) -> None:
    """Log sources that do not run because a setting, such as a token, is missing."""
    if missing := set(config.discovery_sources) - {each.name for each in sources}:
        log.warning("Skipped discovery sources with missing settings", sources=", ".join(sorted(missing)))


async def _crawl_once(config: Settings, source: str | None, most: int | None, *, dry_run: bool, as_json: bool) -> Exit:
    request = crawl_request(config, BY, max_results=most, is_manual=True)
    async with open_app(config, application="assay crawl") as app, open_crawler(app) as crawler:
        sources = select_sources(crawler.sources, source)
        with _live_table(sources, enabled=not as_json) as show:
            crawler = replace(crawler, show=show)
            if dry_run:
                rows = [_row(each.source, each) for each in await _dry_run_all(crawler, sources, request)]
            else:
                runs = await run_once(crawler, sources, request)
                rows = [_row(each.name, run) for each, run in zip(sources, runs, strict=True)]
    if as_json:
        print_json({"dryRun": dry_run, "runs": [each.document for each in rows]})
    else:
        _print(rows)
    return most_severe(each.exit for each in rows)


async def _dry_run_all(crawler: Crawler, sources: Sequence[DiscoverySource], request: RunRequest) -> list[DryRun]:
    return await asyncio.gather(*(dry_run_source(crawler, each, request) for each in sources))


@dataclass(frozen=True)
class _Row:
    """The printed result of a run."""

    source: str
    outcome: str
    counters: RunCounters
    calls: int = 0
    problem: str | None = None
    exit: Exit = Exit.DONE
    new: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """The counters in the order of COLUMNS."""
        counters = self.counters
        return [counters.found, counters.new, counters.skipped_dedup, counters.enqueued, counters.errors, self.calls]

    @property
    def document(self) -> dict[str, object]:
        counters = self.counters
        return {
            "source": self.source,
            "outcome": self.outcome,
            "found": counters.found,
            "new": counters.new,
            "skippedDedup": counters.skipped_dedup,
            "enqueued": counters.enqueued,
            "existing": counters.existing,
            "errors": counters.errors,
            "calls": self.calls,
            "repoStats": counters.repo_stats,
            "problem": self.problem,
            "newRepositories": self.new,
        }


def _row(name: str, run: RunRecord | DryRun | None) -> _Row:
    if run is None:
        problem = "Another process is crawling this source."
        return _Row(name, "busy", RunCounters(), problem=problem, exit=Exit.CONFLICT)
    outcome = run.outcome or RunOutcome.STOPPED
    new = run.new if isinstance(run, DryRun) else []
    code = OUTCOME_EXIT_CODES.get(outcome, Exit.DONE)
    return _Row(name, outcome.value, run.counters, run.calls, run.problem, code, new)


@contextmanager
def _live_table(sources: Sequence[DiscoverySource], *, enabled: bool) -> Iterator[Callable[[Progress], None]]:
    """Display a live table below the log on a terminal; elsewhere, the log is sufficient."""
    console = open_console(stderr=True)
    rows = {each.name: _Row(each.name, "waiting", RunCounters()) for each in sources}
    if not enabled or not console.is_interactive:
        yield lambda _: None
        return
    with Live(_table(list(rows.values())), console=console, transient=True) as live:

        def show(progress: Progress) -> None:
            outcome = progress.outcome.value if progress.outcome else "running"
            rows[progress.source] = _Row(progress.source, outcome, replace(progress.counters), progress.calls)
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
            print_line(console, row.source, "would add", name)
        if row.problem:
            print_line(console, row.source, row.problem)


def _table(rows: Sequence[_Row]) -> Table:
    table = make_table("source", "outcome", *COLUMNS, right=COLUMNS)
    for row in rows:
        table.add_row(cell(row.source), cell(row.outcome), *(f"{number:,}" for number in row.numbers))
    return table
