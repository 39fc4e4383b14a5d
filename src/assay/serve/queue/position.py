"""Where submissions stand in the queue, and when their turn is likely to come."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State, Submission
from assay.serve.queue.drain import Drain, read_drain
from assay.store.queue.pauses import read_pause
from assay.store.queue.position import Position, find_positions
from assay.store.submissions.counts import count_by_state
from assay.store.submissions.submissions import find_rounds

# Those that wait for a worker.
WAITING = frozenset({State.RECEIVED})


@dataclass(frozen=True)
class Place:
    """A position, and the seconds until a decision is likely; None if nobody knows, as while the queue is paused."""

    position: Position
    eta_seconds: int | None


@dataclass(frozen=True)
class Places:
    """Of those that wait; how many wait in all."""

    by_id: dict[UUID, Place]
    waiting: int
    as_of: datetime


async def position_of_all(db: AsyncConnection, submissions: Iterable[Submission]) -> dict[UUID, Position]:
    """The positions of those that wait."""
    return await find_positions(db, [Job(each.id, each.cycle) for each in submissions if each.state in WAITING])


async def read_places(db: AsyncConnection, ids: Sequence[UUID], now: datetime) -> Places:
    """Position and estimate of each that waits; what does not wait, or does not exist, is left out."""
    rounds = await find_rounds(db, ids, WAITING)
    positions = await find_positions(db, [Job(number, cycle) for number, cycle in rounds.items()])
    estimate = await read_estimate(db, now) if positions else None
    by_id = {number: estimate.place(position, now) for number, position in positions.items()} if estimate else {}
    by_state = await count_by_state(db)
    return Places(by_id, sum(by_state[state] for state in WAITING), now)


@dataclass(frozen=True)
class Estimate:
    """How fast the queue drains, unless it is paused."""

    drain: Drain | None

    def place(self, position: Position, now: datetime) -> Place:
        """With the time that the position is likely to take; a job is not taken before it is due."""
        seconds = self.drain.seconds_until(position.number) if self.drain else None
        if seconds is not None and position.due_at is not None:
            seconds = max(seconds, round((position.due_at - now).total_seconds()))
        return Place(position, seconds)


async def read_estimate(db: AsyncConnection, now: datetime) -> Estimate:
    """Measured now."""
    paused = await read_pause(db) is not None
    return Estimate(None if paused else await read_drain(db, now))
