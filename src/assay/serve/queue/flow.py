"""The flow through the queue: submissions that recently entered each state, stages passed, and the drain rate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.submissions.counts import count_arrivals

# The states in which processing ends. Dequeued and held submissions do not count towards the drain rate.
DECIDED = frozenset(
    {State.PUBLISHED, State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED, State.FAILED, State.BLOCKED}
)
VERDICTS = frozenset({State.PUBLISHED, State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED})
# With fewer decisions in the last hour, the rate is taken from the last six hours.
ENOUGH = 20
HOUR = timedelta(hours=1)
SIX_HOURS = timedelta(hours=6)
Arrivals = Mapping[State, int]


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline, with the states that show that a submission has passed it."""

    name: str
    passed: frozenset[State]

    def count(self, arrivals: Arrivals) -> int:
        return sum(arrivals[state] for state in self.passed)


FETCHED = Stage("fetched", frozenset({State.TIER1_SCANNING}))
JUDGED = Stage("judged", VERDICTS)
PUBLISHED = Stage("published", frozenset({State.PUBLISHED}))
REVIEW = Stage("review", frozenset({State.NEEDS_REVIEW}))
REFUSED = Stage("refused", frozenset({State.TIER1_FAILED, State.REJECTED, State.BLOCKED}))
FAILED = Stage("failed", frozenset({State.FAILED}))
STAGES = (FETCHED, JUDGED, PUBLISHED, REVIEW, REFUSED, FAILED)


@dataclass(frozen=True)
class Drain:
    """The numbers of submissions decided recently; the source of every estimate."""

    last_1h: int
    last_6h: int

    @property
    def per_second(self) -> float | None:
        """Decisions per second; None if there were none."""
        if self.last_1h >= ENOUGH:
            return self.last_1h / HOUR.total_seconds()
        return self.last_6h / SIX_HOURS.total_seconds() or None

    def seconds_until(self, position: int) -> int | None:
        """Estimate when the submission at this position is decided; None if the rate is unknown."""
        rate = self.per_second
        return None if rate is None else max(1, round(position / rate))


@dataclass(frozen=True)
class QueueFlow:
    """The numbers of submissions that entered each state; `stall` covers the window in which every stage must move."""

    last_1h: Arrivals
    last_6h: Arrivals
    stall: Arrivals

    @property
    def drain(self) -> Drain:
        return Drain(_decided(self.last_1h), _decided(self.last_6h))


async def read_drain(db: AsyncConnection, now: datetime) -> Drain:
    """Count the decisions of the last hour and the last six hours, to the minute."""
    return Drain(_decided(await count_arrivals(db, now - HOUR)), _decided(await count_arrivals(db, now - SIX_HOURS)))


async def read_flow(db: AsyncConnection, now: datetime, stall: timedelta) -> QueueFlow:
    return QueueFlow(
        last_1h=await count_arrivals(db, now - HOUR),
        last_6h=await count_arrivals(db, now - SIX_HOURS),
        stall=await count_arrivals(db, now - stall),
    )


def _decided(arrivals: Arrivals) -> int:
    return sum(arrivals[state] for state in DECIDED)
