"""One run of one source: read a page, keep what is new in it with the checkpoint, look into that, go on.

What is found is written down before anything is submitted, in the transaction that moves the checkpoint. So a run that
dies is gone on with by the next one: no page is read twice, and nothing that was found is lost.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

import structlog

from assay.discover.held_lease import HeldLease, LeaseLost
from assay.discover.inspect import CALLS_PER_LOOK, Looker
from assay.discover.source import BudgetSpent, Meter, Page, Source, TooEarly, Unread, rhythm_of
from assay.model.discovery import DISCOVERY_BATCH_SIZE, MOST_RESULTS, RunOutcome, Tally
from assay.model.errors import AssayError, RateLimited, Unavailable
from assay.model.ids import new_id
from assay.runtime.loops import Bug, expecting
from assay.store.database.database import AWAY, Database
from assay.store.discovery.records import claim_fresh, list_fresh, release_held, seconds_until_due, take_found
from assay.store.discovery.runs import RunRecord, add_to_run, begin_run, end_run, read_run
from assay.store.discovery.sources import (
    Lease,
    failures_of,
    give_back,
    keep_page,
    note_probe,
    note_sightings,
    register_sources,
    take_lease,
)

log = structlog.get_logger()
HELD_SECONDS = 600.0
# A page that cannot be read is asked for again so often; who must wait longer than this ends the run.
TRIED = 4
FIRST_PAUSE_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 90.0
HOUR_SECONDS = 3_600.0
NOT_ALL = "Not all of its places could be read:"


@dataclass(frozen=True)
class Asked:
    """What is wanted of a run: by whom, how many new repositories, how many calls, how long; `None`: as the source."""

    by: str
    max_results: int = MOST_RESULTS
    max_calls: int = 1_000
    timeout_seconds: float | None = None
    # Whoever asks for a run does not wait until the source is due.
    is_asked_for: bool = False
    batch_size: int = DISCOVERY_BATCH_SIZE


@dataclass
class Progress:
    """How far a run has come, for those who watch."""

    source: str
    tally: Tally
    calls: int = 0
    outcome: RunOutcome | None = None


class _Ended(Exception):
    """The run is over for a reason that is no failure."""

    def __init__(self, outcome: RunOutcome, message: str = "", again_seconds: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.again_seconds = again_seconds


# In which ways a run may end; any other is a bug, and a failed run.
ENDS = (AssayError, BudgetSpent, LeaseLost, _Ended)


@dataclass(frozen=True)
class Crawler:
    """What a run needs. `sources` are all that this release runs, so that nobody's finds are left lying."""

    store: Database
    looker: Looker
    lease_seconds: float
    sources: Sequence[Source] = ()
    show: Callable[[Progress], None] = lambda _: None

    async def run(self, source: Source, asked: Asked, stopping: asyncio.Event | None = None) -> RunRecord | None:
        """Run it if it is due, or asked for, and nobody else does; None if not."""
        run_id = new_id()
        async with self.store.begin() as db:
            await register_sources(db, [rhythm_of(source)], is_scheduled=False)
            lease = await take_lease(
                db, source.name, run_id, lease_seconds=self.lease_seconds, is_asked_for=asked.is_asked_for
            )
            if lease is None:
                return None
            await begin_run(db, run_id, source.name, by=asked.by, most=asked.max_results)
            if lease.previous_run_id is not None:
                await release_held(db, lease.previous_run_id, source=source.name)
        known = (source.name, *(each.name for each in self.sources))
        run = _Run(self, source, asked, run_id, lease, known, stopping or asyncio.Event())
        return await run.to_the_end()


@dataclass
class _Run:
    crawler: Crawler
    source: Source
    asked: Asked
    id: UUID
    lease: Lease
    known: tuple[str, ...]
    stopping: asyncio.Event
    tally: Tally = field(default_factory=Tally)
    unread: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.meter = Meter(self.asked.max_calls)
        self.checkpoint = self.lease.checkpoint
        self.held = HeldLease(self.crawler.store, self.source.name, self.id, self.crawler.lease_seconds)
        self.started = monotonic()

    async def to_the_end(self) -> RunRecord:
        """Whatever happens, the run ends with an outcome and gives the source back."""
        outcome, problem, again = RunOutcome.COMPLETE, None, None
        async with self.held.renewed():
            try:
                async with asyncio.timeout(self.asked.timeout_seconds or self.source.cadence.timeout_seconds):
                    await expecting(self._work(), "A run of discovery failed", known=ENDS, source=self.source.name)
            except TimeoutError:
                outcome, problem = RunOutcome.TIMEOUT, "It took longer than it may."
            except BudgetSpent as spent:
                outcome, problem = RunOutcome.SPENT, str(spent)
            except _Ended as end:
                outcome, problem, again = end.outcome, end.message or None, end.again_seconds
            except LeaseLost as lost:
                outcome, problem = RunOutcome.LOST, str(lost)
            except AssayError as failure:
                if failure.code == AWAY:
                    raise
                outcome, problem = RunOutcome.FAILED, failure.message
                log.warning("A source could not be read", source=self.source.name, problem=failure.message)
            except Bug as bug:
                outcome, problem = RunOutcome.FAILED, str(bug)
            return await self._end(outcome, problem, again)

    async def _work(self) -> None:
        await self._look()  # what a run before this one has found and not looked into
        tried = 0
        while True:
            try:
                async with aclosing(self.source.pages(self.checkpoint, self.meter)) as pages:
                    async for page in pages:
                        tried = 0
                        await self._keep(page)
                        await self._look()
                        if self.tally.new >= self.asked.max_results and not page.is_last:
                            raise _Ended(RunOutcome.CAPPED)
                break
            except TooEarly as early:
                raise _Ended(RunOutcome.RATE_LIMITED, early.message, again_seconds=early.retry_after_seconds) from None
            except RateLimited as limit:
                await self._wait(limit.retry_after_seconds, limit.message)
            except Unread as place:
                tried += 1
                await self._note_error()
                pause = place.pause_seconds or FIRST_PAUSE_SECONDS * 2**tried
                if place.is_worth_asking_again and tried < TRIED and pause <= LONGEST_WAIT_SECONDS:
                    await self._wait(pause, place.message)
                    continue
                tried = 0
                self.unread.append(place.message)
                log.warning("A place is passed over", source=self.source.name, problem=place.message)
                await self._keep(place.without)
                if place.without.is_last:
                    break
            except Unavailable as outage:
                tried += 1
                if outage.code == AWAY or tried >= TRIED:
                    raise
                await self._note_error()
                await self._wait(FIRST_PAUSE_SECONDS * 2**tried, outage.message)
        await self._look_at_the_rest()
        await self._probe()
        if self.unread:
            raise Unavailable(NOT_ALL, code="not_all_read")

    async def _keep(self, page: Page) -> None:
        """What is new is kept before the checkpoint moves; if there is no room for all of it, it does not move."""
        self._check()
        name, room = self.source.name, self.asked.max_results - self.tally.new
        async with self.crawler.store.begin() as db:
            fresh = await list_fresh(db, page.candidates, room=room + 1)
            fits = len(fresh) <= room
            claimed = await claim_fresh(db, page.candidates, source=name, room=room)
            after, is_last = (page.checkpoint, page.is_last) if fits else (self.checkpoint, False)
            counted = {"found": len(page.candidates), "new": len(claimed), "cut": page.cut if fits else 0}
            if not await keep_page(db, name, self.id, checkpoint=after, is_last=is_last, **counted):
                raise LeaseLost(name)
            await note_sightings(db, name, page.candidates)
            known = len(page.candidates) - len(claimed) if fits else 0
            tally = Tally(found=len(page.candidates), new=len(claimed), skipped_dedup=known, errors=page.left_out)
            await add_to_run(db, self.id, tally)
        self._count(tally)
        self.checkpoint = after
        if not fits:
            await self._look()
            raise _Ended(RunOutcome.CAPPED)

    async def _look(self) -> int:
        """Everything that is due, so many at a time. Returns how many were looked into."""
        number = 0
        while True:
            self._check()
            limit = min(self.asked.batch_size, self.meter.left // CALLS_PER_LOOK)
            async with self.crawler.store.begin() as db:
                taken = await take_found(
                    db,
                    self.id,
                    source=self.source.name,
                    known=self.known,
                    limit=max(limit, 1),
                    held_seconds=HELD_SECONDS,
                )
            if not taken:
                return number
            self.meter.spend(CALLS_PER_LOOK * len(taken))
            self._count(await self.crawler.looker.look_at_all(taken, self.id, source=self.source.name))
            number += len(taken)

    async def _look_at_the_rest(self) -> None:
        """What was postponed for a moment belongs to this run; for what must wait longer there is a next one."""
        while True:
            await self._look()
            async with self.crawler.store.begin() as db:
                seconds = await seconds_until_due(db, source=self.source.name)
            if seconds is None or seconds > LONGEST_WAIT_SECONDS:
                return
            await self._wait(max(seconds, 0.05), "Some repositories are looked into a little later.")

    async def _note_error(self) -> None:
        async with self.crawler.store.begin() as db:
            await add_to_run(db, self.id, Tally(errors=1))
        self._count(Tally(errors=1))

    async def _probe(self) -> None:
        try:
            sees = await self.source.probe(self.meter)
        except (Unavailable, BudgetSpent) as problem:
            log.info("A source could not be tried", source=self.source.name, problem=str(problem))
            return
        if sees is not None:
            async with self.crawler.store.begin() as db:
                await note_probe(db, self.source.name, sees=sees)

    async def _wait(self, seconds: float, why: str) -> None:
        """A short wait is part of the run. A long one ends it: the checkpoint stays."""
        if seconds > LONGEST_WAIT_SECONDS:
            raise _Ended(RunOutcome.RATE_LIMITED, why, again_seconds=seconds)
        log.info("A run waits", source=self.source.name, seconds=round(seconds, 1), why=why)
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return
        raise _Ended(RunOutcome.STOPPED)

    def _check(self) -> None:
        self.held.check()
        if self.stopping.is_set():
            raise _Ended(RunOutcome.STOPPED)

    def _count(self, more: Tally) -> None:
        for counter in ("found", "new", "skipped_dedup", "looked", "enqueued", "existing", "errors"):
            setattr(self.tally, counter, getattr(self.tally, counter) + getattr(more, counter))
        self.crawler.show(Progress(self.source.name, self.tally, self.meter.used))

    async def _end(self, outcome: RunOutcome, problem: str | None, again: float | None) -> RunRecord:
        name, problem = self.source.name, " ".join([*([problem] if problem else []), *self.unread]) or None
        async with self.crawler.store.begin() as db:
            await release_held(db, self.id, source=name)
            await end_run(db, self.id, outcome, calls=self.meter.used, problem=problem)
            pause = self._pause(outcome, await failures_of(db, name), again)
            await give_back(
                db, name, self.id, outcome=outcome, found=self.tally.found, again_seconds=pause, problem=problem
            )
            ended = await read_run(db, self.id)
        self.crawler.show(Progress(name, self.tally, self.meter.used, outcome))
        log.info("A run of discovery has ended", source=name, outcome=outcome.value, enqueued=ended.tally.enqueued)
        return ended

    def _pause(self, outcome: RunOutcome, failures: int, again: float | None) -> float:
        """When the source runs again: in its rhythm, soon if it is not through, later and later if it fails."""
        cadence = self.source.cadence
        match outcome:
            case RunOutcome.COMPLETE:
                return cadence.every_seconds
            case RunOutcome.SPENT:
                # Its share is one of an hour.
                return max(cadence.cooldown_seconds, HOUR_SECONDS - (monotonic() - self.started))
            case RunOutcome.FAILED:
                # One place that is gone does not make the others wait.
                longest = cadence.every_seconds if self.unread else max(cadence.every_seconds, HOUR_SECONDS)
                return float(min(cadence.cooldown_seconds * 2**failures, longest))
            case RunOutcome.STOPPED:
                return 0.0
            case _:
                return max(cadence.cooldown_seconds, again or 0.0)
