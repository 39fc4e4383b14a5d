"""What a run of a source would find, without a lease, a record or anything else that is written."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from assay.discover.crawl import NOT_ALL, Asked, Crawler, Progress
from assay.discover.source import BudgetSpent, Checkpoint, Meter, Page, Source, Unread
from assay.model.discovery import RunOutcome, Tally
from assay.model.errors import AssayError, RateLimited
from assay.store.database.database import AWAY
from assay.store.discovery.records import list_fresh

MOST_SHOWN = 100


@dataclass(frozen=True)
class DryRun:
    """What a run would have taken; nothing was written."""

    source: str
    outcome: RunOutcome
    tally: Tally
    calls: int
    new: list[str] = field(default_factory=list)
    problem: str | None = None


async def try_out(crawler: Crawler, source: Source, asked: Asked, checkpoint: Checkpoint | None = None) -> DryRun:
    """What a run would find, from the beginning or a checkpoint; no lease, no record, nothing written."""
    meter, tally = Meter(asked.max_calls), Tally()
    new: dict[str, None] = {}
    unread: list[str] = []
    outcome, problem = RunOutcome.COMPLETE, None
    try:
        async with (
            asyncio.timeout(asked.timeout_seconds or source.cadence.timeout_seconds),
            aclosing(_readable_pages(source, checkpoint, meter, unread)) as pages,
        ):
            async for page in pages:
                tally.found += len(page.candidates)
                tally.errors += page.left_out
                async with crawler.store.snapshot() as db:
                    new |= dict.fromkeys(await list_fresh(db, page.candidates, room=len(page.candidates)))
                tally.new = min(len(new), asked.max_results)
                tally.skipped_dedup = tally.found - len(new)
                crawler.show(Progress(source.name, tally, meter.used))
                if len(new) >= asked.max_results:
                    outcome = RunOutcome.CAPPED
                    break
    except TimeoutError:
        outcome = RunOutcome.TIMEOUT
    except BudgetSpent as spent:
        outcome, problem = RunOutcome.SPENT, str(spent)
    except RateLimited as limit:
        outcome, problem = RunOutcome.RATE_LIMITED, limit.message
    except AssayError as failure:
        if failure.code == AWAY:
            raise
        outcome, problem = RunOutcome.FAILED, failure.message
    if unread and outcome is RunOutcome.COMPLETE:
        outcome, problem = RunOutcome.FAILED, " ".join([NOT_ALL, *unread])
    return DryRun(source.name, outcome, tally, meter.used, list(new)[: min(MOST_SHOWN, tally.new)], problem)


async def _readable_pages(
    source: Source, checkpoint: Checkpoint | None, meter: Meter, unread: list[str]
) -> AsyncGenerator[Page, None]:
    """To the end of the cycle, past the places that cannot be read now."""
    while True:
        try:
            async with aclosing(source.pages(checkpoint, meter)) as pages:
                async for page in pages:
                    yield page
            return
        except Unread as place:
            unread.append(place.message)
            if place.without.is_last:
                return
            checkpoint = place.without.checkpoint
