"""How fast the queue drains: measured, and the only source of every estimate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.submissions.counts import count_arrivals

# Where a worker's examination ends. What an admin takes out or parks says nothing of how fast the others come.
DECIDED = frozenset(
    {State.PUBLISHED, State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED, State.FAILED, State.BLOCKED}
)
# Fewer decisions in the last hour do not make a rate; then the last six hours speak, if they have any.
ENOUGH = 20
HOUR = timedelta(hours=1)
SIX_HOURS = timedelta(hours=6)


@dataclass(frozen=True)
class Drain:
    """How many submissions were decided lately."""

    last_1h: int
    last_6h: int

    @property
    def per_second(self) -> float | None:
        """Decisions a second; None if there were none, because then nobody knows."""
        if self.last_1h >= ENOUGH:
            return self.last_1h / HOUR.total_seconds()
        return self.last_6h / SIX_HOURS.total_seconds() or None

    def seconds_until(self, position: int) -> int | None:
        """When the submission at this position is likely to be decided; None if nobody knows."""
        rate = self.per_second
        return None if rate is None else max(1, round(position / rate))


async def read_drain(db: AsyncConnection, now: datetime) -> Drain:
    """Decisions of the last hour and of the last six, to the minute."""
    last_1h = await count_arrivals(db, now - HOUR)
    last_6h = await count_arrivals(db, now - SIX_HOURS)
    return Drain(_decided(last_1h), _decided(last_6h))


def _decided(arrivals: Mapping[State, int]) -> int:
    return sum(arrivals[state] for state in DECIDED)
