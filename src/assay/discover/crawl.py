"""One run of one source: read a page, store new candidates and the checkpoint, inspect them, and repeat.

Candidates are stored before anything is submitted, in the transaction that moves the checkpoint. A run that crashed is
therefore continued by the next one: no page is read twice, and no candidate is lost.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

import structlog

from assay.concurrency import wait_or_stop
from assay.discover.inspect import CALLS_PER_INSPECTION, Inspector
from assay.discover.source import (
    BudgetSpent,
    CandidatePage,
    DiscoverySource,
    PartUnavailable,
    PollTooEarly,
    RunCallBudget,
    schedule_of,
)
from assay.discover.source_lease import LeaseLost, SourceLease
from assay.model.discovery import DISCOVERY_BATCH_SIZE, MAX_RESULTS_PER_RUN, RunCounters, RunOutcome
from assay.model.errors import AssayError, RateLimited, Unavailable
from assay.model.ids import new_id
from assay.runtime.loops import UnexpectedError, log_bugs
from assay.store.database.database import DATABASE_UNAVAILABLE, Database
from assay.store.discovery.records import (
    claim_due_records,
    claim_new_candidates,
    list_new_candidates,
    release_claimed,
    seconds_until_due,
)
from assay.store.discovery.runs import RunRecord, add_to_counters, end_run, read_run, start_run
from assay.store.discovery.sources import (
    Lease,
    acquire_lease,
    count_failures,
    record_probe_result,
    record_sightings,
    register_sources,
    release_source,
    save_page,
)

log = structlog.get_logger()
CLAIM_SECONDS = 600.0
# Attempts to read a page. A wait that is longer than LONGEST_WAIT_SECONDS ends the run.
MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 90.0
HOUR_SECONDS = 3_600.0
INCOMPLETE = "Some parts of the source could not be read:"


@dataclass(frozen=True)
class RunRequest:
    """Parameters of a run; a timeout of None means that of the source."""

    by: str
    max_results: int = MAX_RESULTS_PER_RUN
    max_calls: int = 1_000
    timeout_seconds: float | None = None
    # A manual run starts even if the source is not due.
    is_manual: bool = False
    batch_size: int = DISCOVERY_BATCH_SIZE


@dataclass
class Progress:
    """Progress of a run, for display."""

    source: str
    counters: RunCounters
    calls: int = 0
    outcome: RunOutcome | None = None


class _RunEnded(Exception):
    """Ends a run for a reason that is not a failure."""

    def __init__(self, outcome: RunOutcome, message: str = "", again_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.again_seconds = again_seconds


# Expected ways for a run to end; any other exception is a bug and fails the run.
EXPECTED_ENDS = (AssayError, BudgetSpent, LeaseLost, _RunEnded)


@dataclass(frozen=True)
class Crawler:
    """Runs sources. `sources` are all of this release: a run also inspects candidates of sources that are gone."""

    store: Database
    inspector: Inspector
    lease_seconds: float
    sources: Sequence[DiscoverySource] = ()
    show: Callable[[Progress], None] = lambda _: None

    async def run(
        self, source: DiscoverySource, request: RunRequest, stopping: asyncio.Event | None = None
    ) -> RunRecord | None:
        """Run a source; return None if it is not due or another process holds its lease."""
        run_id = new_id()
        async with self.store.begin() as db:
            await register_sources(db, [schedule_of(source)], is_scheduled=False)
            lease = await acquire_lease(
                db, source.name, run_id, lease_seconds=self.lease_seconds, is_asked_for=request.is_manual
            )
            if lease is None:
                return None
            await start_run(db, run_id, source.name, by=request.by, most=request.max_results)
            if lease.previous_run_id is not None:
                await release_claimed(db, lease.previous_run_id, source=source.name)
        known = (source.name, *(each.name for each in self.sources))
        run = _Run(self, source, request, run_id, lease, known, stopping or asyncio.Event())
        return await run.execute()


@dataclass
class _Run:
    crawler: Crawler
    source: DiscoverySource
    request: RunRequest
    id: UUID
    lease: Lease
    known: tuple[str, ...]
    stopping: asyncio.Event
    counters: RunCounters = field(default_factory=RunCounters)
    unread_parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.budget = RunCallBudget(self.request.max_calls)
        self.checkpoint = self.lease.checkpoint
        self.source_lease = SourceLease(self.crawler.store, self.source.name, self.id, self.crawler.lease_seconds)
        self.started = monotonic()

    async def execute(self) -> RunRecord:
        """Execute the run; record an outcome and release the source however it ends."""
        outcome, problem, again = RunOutcome.COMPLETE, None, None
        async with self.source_lease.renewed():
            try:
                async with asyncio.timeout(self.request.timeout_seconds or self.source.cadence.timeout_seconds):
                    await log_bugs(self._work(), "Discovery run failed", known=EXPECTED_ENDS, source=self.source.name)
            except TimeoutError:
                outcome, problem = RunOutcome.TIMEOUT, "The run exceeded its time limit."
            except BudgetSpent as spent:
                outcome, problem = RunOutcome.SPENT, str(spent)
            except _RunEnded as end:
                outcome, problem, again = end.outcome, end.message or None, end.again_seconds
            except LeaseLost as lost:
                outcome, problem = RunOutcome.LOST, str(lost)
            except AssayError as failure:
                if failure.code == DATABASE_UNAVAILABLE:
                    raise
                outcome, problem = RunOutcome.FAILED, failure.message
                log.warning("Failed to read a discovery source", source=self.source.name, error=failure.message)
            except UnexpectedError as bug:
                outcome, problem = RunOutcome.FAILED, str(bug)
            return await self._end(outcome, problem, again)

    async def _work(self) -> None:
        await self._inspect_due()  # candidates that an earlier run has found and not inspected
        attempts = 0
        while True:
            try:
                async with aclosing(self.source.pages(self.checkpoint, self.budget)) as pages:
                    async for page in pages:
                        attempts = 0
                        await self._store_page(page)
                        await self._inspect_due()
                        if self.counters.new >= self.request.max_results and not page.is_last:
                            raise _RunEnded(RunOutcome.CAPPED)
                break
            except PollTooEarly as early:
                raise _RunEnded(
                    RunOutcome.RATE_LIMITED, early.message, again_seconds=early.retry_after_seconds
                ) from None
            except RateLimited as limit:
                await self._wait(limit.retry_after_seconds, limit.message)
            except PartUnavailable as part:
                attempts += 1
                await self._count_error()
                pause = part.pause_seconds or FIRST_PAUSE_SECONDS * 2**attempts
                if part.is_retryable and attempts < MAX_ATTEMPTS and pause <= LONGEST_WAIT_SECONDS:
                    await self._wait(pause, part.message)
                    continue
                attempts = 0
                self.unread_parts.append(part.message)
                log.warning("Skipped part of a discovery source", source=self.source.name, error=part.message)
                await self._store_page(part.skip_to)
                if part.skip_to.is_last:
                    break
            except Unavailable as outage:
                attempts += 1
                if outage.code == DATABASE_UNAVAILABLE or attempts >= MAX_ATTEMPTS:
                    raise
                await self._count_error()
                await self._wait(FIRST_PAUSE_SECONDS * 2**attempts, outage.message)
        await self._inspect_postponed()
        await self._probe()
        if self.unread_parts:
            raise Unavailable(INCOMPLETE, code="not_all_read")

    async def _store_page(self, page: CandidatePage) -> None:
        """Store new candidates and move the checkpoint in one transaction.

        If the page exceeds the result limit of the run, the checkpoint stays and the run ends.
        """
        self._check()
        name, room = self.source.name, self.request.max_results - self.counters.new
        async with self.crawler.store.begin() as db:
            fresh = await list_new_candidates(db, page.candidates, room=room + 1)
            fits = len(fresh) <= room
            claimed = await claim_new_candidates(db, page.candidates, source=name, room=room)
            after, is_last = (page.checkpoint, page.is_last) if fits else (self.checkpoint, False)
            counted = {"found": len(page.candidates), "new": len(claimed), "cut": page.cut if fits else 0}
            if not await save_page(db, name, self.id, checkpoint=after, is_last=is_last, **counted):
                raise LeaseLost(name)
            await record_sightings(db, name, page.candidates)
            known = len(page.candidates) - len(claimed) if fits else 0
            counters = RunCounters(
                found=len(page.candidates), new=len(claimed), skipped_dedup=known, errors=page.left_out
            )
            await add_to_counters(db, self.id, counters)
        self._count(counters)
        self.checkpoint = after
        if not fits:
            await self._inspect_due()
            raise _RunEnded(RunOutcome.CAPPED)

    async def _inspect_due(self) -> int:
        """Inspect all due candidates in batches; return their number."""
        number = 0
        while True:
            self._check()
            limit = min(self.request.batch_size, self.budget.left // CALLS_PER_INSPECTION)
            async with self.crawler.store.begin() as db:
                records = await claim_due_records(
                    db,
                    self.id,
                    source=self.source.name,
                    known=self.known,
                    limit=max(limit, 1),
                    held_seconds=CLAIM_SECONDS,
                )
            if not records:
                return number
            self.budget.spend(CALLS_PER_INSPECTION * len(records))
            self._count(await self.crawler.inspector.inspect_all(records, self.id, source=self.source.name))
            number += len(records)

    async def _inspect_postponed(self) -> None:
        """Also inspect candidates that were postponed briefly; those with a longer delay are left to the next run."""
        while True:
            await self._inspect_due()
            async with self.crawler.store.begin() as db:
                seconds = await seconds_until_due(db, source=self.source.name)
            if seconds is None or seconds > LONGEST_WAIT_SECONDS:
                return
            await self._wait(max(seconds, 0.05), "Some repositories were postponed.")

    async def _count_error(self) -> None:
        async with self.crawler.store.begin() as db:
            await add_to_counters(db, self.id, RunCounters(errors=1))
        self._count(RunCounters(errors=1))

    async def _probe(self) -> None:
        try:
            sees = await self.source.probe(self.budget)
        except (Unavailable, BudgetSpent) as error:
            log.info("Failed to probe a discovery source", source=self.source.name, error=str(error))
            return
        if sees is not None:
            async with self.crawler.store.begin() as db:
                await record_probe_result(db, self.source.name, sees=sees)

    async def _wait(self, seconds: float, reason: str) -> None:
        """Wait within the run, or end it if the wait is long; the checkpoint stays."""
        if seconds > LONGEST_WAIT_SECONDS:
            raise _RunEnded(RunOutcome.RATE_LIMITED, reason, again_seconds=seconds)
        log.info("Discovery run is waiting", source=self.source.name, seconds=round(seconds, 1), reason=reason)
        if await wait_or_stop(self.stopping, seconds):
            raise _RunEnded(RunOutcome.STOPPED)

    def _check(self) -> None:
        self.source_lease.check()
        if self.stopping.is_set():
            raise _RunEnded(RunOutcome.STOPPED)

    def _count(self, more: RunCounters) -> None:
        for counter in ("found", "new", "skipped_dedup", "looked", "enqueued", "existing", "errors"):
            setattr(self.counters, counter, getattr(self.counters, counter) + getattr(more, counter))
        self.crawler.show(Progress(self.source.name, self.counters, self.budget.used))

    async def _end(self, outcome: RunOutcome, problem: str | None, again: float | None) -> RunRecord:
        name, problem = self.source.name, " ".join([*([problem] if problem else []), *self.unread_parts]) or None
        async with self.crawler.store.begin() as db:
            await release_claimed(db, self.id, source=name)
            await end_run(db, self.id, outcome, calls=self.budget.used, problem=problem)
            pause = self._pause(outcome, await count_failures(db, name), again)
            await release_source(
                db, name, self.id, outcome=outcome, found=self.counters.found, again_seconds=pause, problem=problem
            )
            ended = await read_run(db, self.id)
        self.crawler.show(Progress(name, self.counters, self.budget.used, outcome))
        log.info("Discovery run ended", source=name, outcome=outcome.value, enqueued=ended.counters.enqueued)
        return ended

    def _pause(self, outcome: RunOutcome, failures: int, again: float | None) -> float:
        """Return the seconds until the next run: the interval, less after an incomplete cycle, or a growing backoff."""
        cadence = self.source.cadence
        match outcome:
            case RunOutcome.COMPLETE:
                return cadence.every_seconds
            case RunOutcome.SPENT:
                # The call budget is per hour.
                return max(cadence.cooldown_seconds, HOUR_SECONDS - (monotonic() - self.started))
            case RunOutcome.FAILED:
                # One unavailable part does not delay the others beyond the normal interval.
                longest = cadence.every_seconds if self.unread_parts else max(cadence.every_seconds, HOUR_SECONDS)
                return float(min(cadence.cooldown_seconds * 2**failures, longest))
            case RunOutcome.STOPPED:
                return 0.0
            case _:
                return max(cadence.cooldown_seconds, again or 0.0)
