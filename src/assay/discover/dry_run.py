"""Dry runs: report what a run of a source would find, without a lease and without writing anything."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from assay.discover.crawl import INCOMPLETE, Crawler, Progress, RunRequest
from assay.discover.source import (
    BudgetSpent,
    CandidatePage,
    Checkpoint,
    DiscoverySource,
    PartUnavailable,
    RunCallBudget,
)
from assay.model.discovery import RunCounters, RunOutcome
from assay.model.errors import AssayError, RateLimited
from assay.store.database.database import DATABASE_UNAVAILABLE
from assay.store.discovery.records import list_new_candidates

MAX_LISTED = 100


@dataclass(frozen=True)
class DryRun:
    """The result of a dry run."""

    source: str
    outcome: RunOutcome
    counters: RunCounters
    calls: int
    new: list[str] = field(default_factory=list)
    problem: str | None = None


async def dry_run_source(
    crawler: Crawler, source: DiscoverySource, request: RunRequest, checkpoint: Checkpoint | None = None
) -> DryRun:
    """Read a source from the beginning or a checkpoint and report new repositories; write nothing."""
    budget, counters = RunCallBudget(request.max_calls), RunCounters()
    new: dict[str, None] = {}
    unread_parts: list[str] = []
    outcome, problem = RunOutcome.COMPLETE, None
    try:
        async with (
            asyncio.timeout(request.timeout_seconds or source.cadence.timeout_seconds),
            aclosing(_readable_pages(source, checkpoint, budget, unread_parts)) as pages,
        ):
            async for page in pages:
                counters.found += len(page.candidates)
                counters.errors += page.left_out
                async with crawler.store.snapshot() as db:
                    new |= dict.fromkeys(await list_new_candidates(db, page.candidates, room=len(page.candidates)))
                counters.new = min(len(new), request.max_results)
                counters.skipped_dedup = counters.found - len(new)
                crawler.show(Progress(source.name, counters, budget.used))
                if len(new) >= request.max_results:
                    outcome = RunOutcome.CAPPED
                    break
    except TimeoutError:
        outcome = RunOutcome.TIMEOUT
    except BudgetSpent as spent:
        outcome, problem = RunOutcome.SPENT, str(spent)
    except RateLimited as limit:
        outcome, problem = RunOutcome.RATE_LIMITED, limit.message
    except AssayError as failure:
        if failure.code == DATABASE_UNAVAILABLE:
            raise
        outcome, problem = RunOutcome.FAILED, failure.message
    if unread_parts and outcome is RunOutcome.COMPLETE:
        outcome, problem = RunOutcome.FAILED, " ".join([INCOMPLETE, *unread_parts])
    return DryRun(source.name, outcome, counters, budget.used, list(new)[: min(MAX_LISTED, counters.new)], problem)


async def _readable_pages(
    source: DiscoverySource, checkpoint: Checkpoint | None, budget: RunCallBudget, unread_parts: list[str]
) -> AsyncGenerator[CandidatePage, None]:
    """Yield pages to the end of the cycle, skipping parts that cannot be read."""
    while True:
        try:
            async with aclosing(source.pages(checkpoint, budget)) as pages:
                async for page in pages:
                    yield page
            return
        except PartUnavailable as part:
            unread_parts.append(part.message)
            if part.skip_to.is_last:
                return
            checkpoint = part.skip_to.checkpoint
