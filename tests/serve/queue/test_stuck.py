"""The stuck list: complete, ordered, at the cost of one page."""

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest

from assay.model.errors import Invalid
from assay.model.submission import ACTIVE, State
from assay.serve.queue.stuck import StuckReason, read_stuck
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.queue.stuck import Thresholds, count_stuck
from tests.support.backlog import NOW, Row, add_rows, analyse, fill, rows_read
from tests.support.web.statements import statements

THRESHOLDS: Thresholds = {
    State.RECEIVED: timedelta(seconds=900),
    State.TIER1_SCANNING: timedelta(seconds=300),
    State.TIER2_SCANNING: timedelta(seconds=600),
}


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a web process."""
    async with open_database(database_url) as opened:
        yield opened


async def pages(store: Database, limit: int) -> list[list[UUID]]:
    """Return the ids of all pages."""
    found, cursor = [], None
    async with store.snapshot() as db:
        while True:
            page = await read_stuck(db, NOW, THRESHOLDS, cursor, limit)
            found.append([each.id for each in page.stuck])
            assert len(found) < 1000, "the pages have no end"
            cursor = page.next_cursor
            if cursor is None:
                return found


def some_rows(chance: random.Random, number: int) -> list[Row]:
    """Insert submissions in every condition, many of the same age."""
    return [
        Row(
            state=chance.choice([*ACTIVE, State.REJECTED, State.FAILED]),
            age_seconds=chance.choice([0, 299, 300, 301, 601, 899, 901, 5000]),
            lease_seconds=chance.choice([None, None, -1, 1]),
            job=chance.choice(["queued", "picked", "failed", None]),
        )
        for _ in range(number)
    ]


def is_stuck(row: Row) -> bool:
    """Return whether a row is stuck, by definition."""
    if row.state not in ACTIVE:
        return False
    expired = row.lease_seconds is not None and row.lease_seconds < 0
    return expired or row.age_seconds > THRESHOLDS[row.state].total_seconds()


@pytest.mark.parametrize("seed", range(3))
async def test_list_matches_the_definition(store: Database, seed: int) -> None:
    """G26: every row once, in order."""
    rows = some_rows(random.Random(seed), 120)
    async with store.begin() as db:
        await add_rows(db, rows)
    expected = [row.id for row in sorted(rows, key=lambda row: (-row.age_seconds, row.id)) if is_stuck(row)]
    assert len(expected) > 20
    for limit in (1, 7, 500):
        found = await pages(store, limit)
        assert [number for page in found for number in page] == expected
        assert all(len(page) == limit for page in found[:-1])


async def test_count_matches_the_list(store: Database) -> None:
    rows = some_rows(random.Random(7), 200)
    async with store.begin() as db:
        await add_rows(db, rows)
        counted = await count_stuck(db, now=NOW, thresholds=THRESHOLDS, at_most=1000)
    stuck = [row for row in rows if is_stuck(row)]
    left = [row for row in stuck if row.state is not State.RECEIVED or (row.lease_seconds or 0) < 0]
    assert counted.total == len(stuck)
    assert counted.at_worker == len(left)


async def test_each_state_has_its_threshold(store: Database) -> None:
    """G26: reaching the threshold exactly is not stuck."""
    rows = {
        state: [Row(state, THRESHOLDS[state].total_seconds() + extra) for extra in (0, 0.001)] for state in THRESHOLDS
    }
    async with store.begin() as db:
        await add_rows(db, [row for both in rows.values() for row in both])
    [found] = await pages(store, 10)
    assert set(found) == {later.id for _, later in rows.values()}


CONDITIONS = [
    (Row(age_seconds=1010), StuckReason.WAITING),
    (Row(age_seconds=1009, job="picked"), StuckReason.WAITING),
    (Row(age_seconds=1008, due_seconds=60), StuckReason.DELAYED),
    (Row(age_seconds=1007, job="failed"), StuckReason.DELAYED),
    (Row(age_seconds=1006, job=None), StuckReason.ORPHANED),
    (Row(State.TIER1_SCANNING, 1005, lease_seconds=60, job="picked"), StuckReason.SLOW),
    (Row(State.TIER1_SCANNING, 1004, lease_seconds=60, job=None), StuckReason.SLOW),
    (Row(State.TIER1_SCANNING, 1003, lease_seconds=-60, job="picked"), StuckReason.LEASE_EXPIRED),
    (Row(State.TIER1_SCANNING, 1002, lease_seconds=-60, job=None), StuckReason.ORPHANED),
    (Row(State.TIER2_SCANNING, 10, lease_seconds=-60, job="queued"), StuckReason.LEASE_EXPIRED),
]


async def test_reason_depends_on_the_holder(store: Database) -> None:
    """G26: a worker, the queue, or none."""
    async with store.begin() as db:
        await add_rows(db, [row for row, _ in CONDITIONS])
        page = await read_stuck(db, NOW, THRESHOLDS, None, 20)
    assert [(each.id, each.why) for each in page.stuck] == [(row.id, why) for row, why in CONDITIONS]
    assert [each.stuck_for_ms for each in page.stuck] == [row.age_seconds * 1000 for row, _ in CONDITIONS]


async def test_page_is_one_statement(store: Database) -> None:
    """G99."""
    async with store.begin() as db:
        await add_rows(db, [Row(age_seconds=1000 + number) for number in range(60)])
    for limit in (1, 50):
        async with store.snapshot() as db:
            with statements(store) as seen:
                page = await read_stuck(db, NOW, THRESHOLDS, None, limit)
        assert len(page.stuck) == limit
        assert len(seen) == 1


async def test_page_reads_only_what_it_shows(database_url: str) -> None:
    """G99: ten rows of 20,000."""
    async with open_database(database_url, PoolOptions(size=1)) as store:
        await fill(store, 20_000)
        async with store.begin() as db:
            await add_rows(db, [Row(State.TIER1_SCANNING, 10, lease_seconds=-5, job="picked") for _ in range(3)])
        await analyse(store)
        before = await rows_read(store)
        async with store.snapshot() as db:
            assert len((await read_stuck(db, NOW, THRESHOLDS, None, 10)).stuck) == 10
            assert (await count_stuck(db, now=NOW, thresholds=THRESHOLDS, at_most=10)).by_lease == 3
        assert await rows_read(store) - before < 200


async def test_cursor_of_another_list_is_rejected(store: Database) -> None:
    """G59."""
    async with store.begin() as db:
        with pytest.raises(Invalid, match="cursor"):
            await read_stuck(db, NOW, THRESHOLDS, "bm90IG9uZQ", 10)
