"""Reconciling counters during concurrent writes."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from assay.maintenance.schedule import reconcile_counts
from assay.model.submission import State
from assay.store.database.database import Database, open_database
from assay.store.skills.counts import count_skills
from assay.store.submissions.counts import correct_counts, count_all_rows, count_arrivals, count_by_state, fold_counts
from tests.support.backlog import NOW, Row, add_rows


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a worker."""
    async with open_database(database_url) as opened:
        yield opened


async def spoil(store: Database) -> None:
    """Corrupt the counters: too low, too high, and for a state without rows."""
    async with store.begin() as db:
        await fold_counts(db)
        await db.execute(text("UPDATE submission_count SET total = total - 5 WHERE state = 'RECEIVED'"))
        await db.execute(text("INSERT INTO submission_count VALUES ('BLOCKED', 3)"))
        await db.execute(text("INSERT INTO submission_count_delta (state, delta) VALUES ('REJECTED', 2)"))
        await db.execute(text("INSERT INTO skill_count (facet, value, number) VALUES ('all', '', 4)"))


async def test_wrong_counter_is_found_and_corrected(store: Database) -> None:
    """G11."""
    async with store.begin() as db:
        await add_rows(db, [Row() for _ in range(10)])
    await spoil(store)
    async with store.begin() as db:
        assert await correct_counts(db) == {"RECEIVED": 5, "BLOCKED": -3, "REJECTED": -2, "skills": -4}
    async with store.begin() as db:
        assert await count_by_state(db) == await count_all_rows(db)
        assert await count_skills(db) == 0
        assert await correct_counts(db) == {}


async def test_correction_is_not_an_arrival(store: Database) -> None:
    async with store.begin() as db:
        await add_rows(db, [Row() for _ in range(10)])
        await db.execute(text("DELETE FROM submission_count_delta"))
        assert await reconcile_counts(db) == 10
        await fold_counts(db)
        arrivals = await count_arrivals(db, NOW.replace(year=2000))
        assert set(arrivals.values()) == {0}
        assert (await count_by_state(db))[State.RECEIVED] == 10


async def test_counters_are_corrected_during_writes(store: Database) -> None:
    """G11."""
    rows = [Row() for _ in range(60)]
    async with store.begin() as db:
        await add_rows(db, rows)
    await spoil(store)
    chance = random.Random(3)
    moving = True
    found: list[int] = []

    async def move() -> None:
        while moving:
            state = chance.choice(["RECEIVED", "TIER1_SCANNING", "REJECTED"])
            some = [row.id for row in chance.sample(rows, 5)]
            async with store.begin() as db:
                # In id order, so that writers do not deadlock.
                await db.execute(
                    text("SELECT FROM submission WHERE id = ANY(:ids) ORDER BY id FOR UPDATE"), {"ids": some}
                )
                await db.execute(
                    text(
                        "UPDATE submission SET state = :state, reason_code = 'x', reason_message = 'y' "
                        "WHERE id = ANY(:ids)"
                    ),
                    {"state": state, "ids": some},
                )

    async def fold() -> None:
        while moving:
            async with store.begin() as db:
                await fold_counts(db)

    async def reconcile() -> None:
        nonlocal moving
        try:
            for _ in range(20):
                async with store.begin() as db:
                    found.append(await reconcile_counts(db))
                async with store.begin() as db:
                    await db.execute(text("UPDATE submission_count SET total = total - 5 WHERE state = 'RECEIVED'"))
        finally:
            moving = False

    await asyncio.gather(reconcile(), fold(), *(move() for _ in range(4)))
    assert found == [14] + [5] * 19
    async with store.begin() as db:
        assert await reconcile_counts(db) == 5
    async with store.snapshot() as db:
        assert await count_by_state(db) == await count_all_rows(db)
