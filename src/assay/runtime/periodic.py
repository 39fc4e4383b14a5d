"""Work that recurs: each chore on its own clock and budget, once across all processes, and none in another's way."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Unavailable
from assay.runtime.loops import Bug, expecting, keep_going
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import Rhythm, lock_chore, record_failure, record_success, seconds_until_due

log = structlog.get_logger()
NOTE_SECONDS = 10
# Clocks wake up a little early at times; a turn that is due that soon is due.
EARLY = 0.1


@dataclass(frozen=True)
class Chore:
    """A small piece of maintenance, done in one transaction; `work` returns how much there was to do."""

    name: str
    every_seconds: float
    budget_seconds: float
    work: Callable[[AsyncConnection], Awaitable[int]]

    @property
    def rhythm(self) -> Rhythm:
        """What others need to know of it."""
        return Rhythm(self.name, self.every_seconds, self.budget_seconds)


@dataclass(frozen=True)
class Turn:
    """What became of a turn: how much was done, or None if it was not ours; and when to look again."""

    amount: int | None
    again_seconds: float


class ChoreFailed(Exception):
    """An error of the chore itself that would look like an outage of the database."""


async def do_chore(database: Database, chore: Chore) -> Turn:
    """Do it if it is due and nobody else is at it. Work and its success commit together, or neither does."""
    async with asyncio.timeout(chore.budget_seconds), database.begin() as db:
        if not await lock_chore(db, chore.rhythm):
            return Turn(None, chore.every_seconds)
        left = await seconds_until_due(db, chore.rhythm)
        # More than an interval is left only if the clock was turned back; then the last turn says nothing.
        if chore.every_seconds * EARLY < left <= chore.every_seconds:
            return Turn(None, left)
        try:
            amount = await chore.work(db)
        except OSError as problem:
            # On an open connection the database's own errors come wrapped; this one is not the database's.
            raise ChoreFailed(repr(problem)) from problem
        await record_success(db, chore.rhythm, amount)
    return Turn(amount, chore.every_seconds)


async def run_chore(database: Database, chore: Chore, stopping: asyncio.Event) -> None:
    """Do it again and again until `stopping`, whatever happens to it."""

    async def turn() -> float:
        return await _take_turn(database, chore)

    await keep_going(turn, stopping, "Chore skipped", after_seconds=chore.every_seconds, chore=chore.name)


async def _take_turn(database: Database, chore: Chore) -> float:
    """Seconds until the next turn. An outage skips one; anything else is a failure that people can see."""
    started = monotonic()
    try:
        turn = await expecting(
            do_chore(database, chore), "A chore failed", known=(Unavailable, TimeoutError), chore=chore.name
        )
        log.debug("Chore done", chore=chore.name, amount=turn.amount)
        return turn.again_seconds
    except TimeoutError:
        log.error("A chore took longer than its budget", chore=chore.name, budget_seconds=chore.budget_seconds)
        await _note_failure(database, chore, f"took longer than {chore.budget_seconds:g} s", monotonic() - started)
    except Bug as bug:
        await _note_failure(database, chore, str(bug), monotonic() - started)
    return chore.every_seconds


async def _note_failure(database: Database, chore: Chore, error: str, seconds: float) -> None:
    """If the database is away meanwhile, the failure is at least in the log."""
    try:
        async with asyncio.timeout(NOTE_SECONDS), database.begin() as db:
            await record_failure(db, chore.rhythm, error, seconds)
    except (Unavailable, TimeoutError) as problem:
        log.warning("The failure of a chore could not be written down", chore=chore.name, problem=repr(problem))
