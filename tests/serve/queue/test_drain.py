"""The measured drain rate; unmeasured is unknown, never zero."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from assay.model.submission import State
from assay.serve.queue.flow import ENOUGH, Drain, read_drain
from assay.store.database.database import open_database

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
ARRIVED = text("INSERT INTO submission_arrival (minute, state, number) VALUES (:minute, :state, :number)")


@pytest.mark.parametrize(
    ("last_1h", "last_6h", "per_second", "seconds"),
    [
        (3600, 3600, 1, 10),
        (7200, 9000, 2, 5),
        (ENOUGH, 6 * 3600, ENOUGH / 3600, 1800),
        (ENOUGH - 1, 6 * 3600, 1, 10),
        (0, 3600, 1 / 6, 60),
        (0, 0, None, None),
        (10**9, 10**9, 10**9 / 3600, 1),
    ],
)
def test_drain_rate_uses_the_last_hour_if_sufficient(
    last_1h: int, last_6h: int, per_second: float | None, seconds: int | None
) -> None:
    """G8: without decisions there is no estimate."""
    drain = Drain(last_1h, last_6h)
    assert (drain.per_second, drain.seconds_until(10)) == (per_second, seconds)


async def test_only_decisions_of_workers_count(database_url: str) -> None:
    async with open_database(database_url) as store, store.begin() as db:
        for number, state in enumerate(State):
            for minutes, amount in ((30, 1), (90, 100), (600, 10_000)):
                minute = NOW - timedelta(minutes=minutes)
                await db.execute(ARRIVED, {"minute": minute, "state": state, "number": amount * 2**number})
        decided = sum(
            2**number
            for number, state in enumerate(State)
            if state in ("PUBLISHED", "NEEDS_REVIEW", "TIER1_FAILED", "REJECTED", "FAILED", "BLOCKED")
        )
        assert await read_drain(db, NOW) == Drain(decided, 101 * decided)
