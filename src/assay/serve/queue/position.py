"""Positions of waiting submissions in the queue, with an estimate of when each is decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State, Submission
from assay.serve.queue.flow import Drain, read_drain
from assay.store.queue.pauses import read_pause
from assay.store.queue.position import Position, find_positions
from assay.store.submissions.counts import count_by_state
from assay.store.submissions.submissions import find_cycles

WAITING = frozenset({State.RECEIVED})


@dataclass(frozen=True)
class QueuePosition:
    """A position, and the estimated seconds until a decision; None if unknown or if the queue is paused."""

    position: Position
    eta_seconds: int | None


@dataclass(frozen=True)
class QueuePositions:
    """The positions of the requested submissions that wait, and the number of all that wait."""

    by_id: dict[UUID, QueuePosition]
    waiting: int
    as_of: datetime


async def find_waiting_positions(db: AsyncConnection, submissions: Iterable[Submission]) -> dict[UUID, Position]:
    """Return the positions of those that wait."""
    return await find_positions(db, [Job(each.id, each.cycle) for each in submissions if each.state in WAITING])


async def read_positions(db: AsyncConnection, ids: Sequence[UUID], now: datetime) -> QueuePositions:
    """Return positions with estimates; submissions that do not wait or do not exist are left out."""
    cycles = await find_cycles(db, ids, WAITING)
    positions = await find_positions(db, [Job(number, cycle) for number, cycle in cycles.items()])
    estimate = await read_estimate(db, now) if positions else None
    by_id = {number: estimate.of(position, now) for number, position in positions.items()} if estimate else {}
    by_state = await count_by_state(db)
    return QueuePositions(by_id, sum(by_state[state] for state in WAITING), now)


@dataclass(frozen=True)
class Estimate:
    """The measured drain rate; None while the queue is paused."""

    drain: Drain | None

    def of(self, position: Position, now: datetime) -> QueuePosition:
        """Add an estimate to a position; a job is not claimed before it is due."""
        seconds = self.drain.seconds_until(position.number) if self.drain else None
        if seconds is not None and position.due_at is not None:
            seconds = max(seconds, round((position.due_at - now).total_seconds()))
        return QueuePosition(position, seconds)


async def read_estimate(db: AsyncConnection, now: datetime) -> Estimate:
    paused = await read_pause(db) is not None
    return Estimate(None if paused else await read_drain(db, now))
