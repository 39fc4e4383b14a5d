"""The facts of the queue: one snapshot at constant cost."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from assay.maintenance.schedule import watch_queue
from assay.model.clock import Clock
from assay.model.job import Job
from assay.model.submission import State
from assay.serve.operations.alarm import AlarmCode
from assay.serve.operations.facts import QueueFacts, read_facts
from assay.serve.queue.health import read_queue_health
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.operations.alarms import list_alarms
from assay.store.submissions.counts import fold_counts
from tests.support.backlog import NOW, Row, add_job, add_rows, analyse, fill, rows_read
from tests.support.queue_limits import LIMITS
from tests.support.web.statements import statements


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a web process."""
    async with open_database(database_url) as opened:
        yield opened


async def facts_of(store: Database, *rows: Row) -> QueueFacts:
    """Return the facts with these submissions."""
    async with store.begin() as db:
        await add_rows(db, rows)
    async with store.snapshot() as db:
        return await read_facts(db, NOW, LIMITS)


async def test_empty_queue_has_no_oldest(store: Database) -> None:
    """G10."""
    facts = await facts_of(store, Row(State.REJECTED, 9_000, job=None))
    assert (facts.waiting, facts.active, facts.oldest, facts.oldest_waiting) == (0, 0, {}, None)
    assert (facts.due_since, facts.most_stuck, list(facts.orphans)) == (None, None, [])


async def test_oldest_of_each_state(store: Database) -> None:
    """G10."""
    old, new = Row(State.TIER1_SCANNING, 500), Row(State.TIER1_SCANNING, 100)
    waiting = Row(age_seconds=50)
    facts = await facts_of(store, new, old, waiting, Row(State.REJECTED, 9_000, job=None))
    assert {state: each.id for state, each in facts.oldest.items()} == {
        State.TIER1_SCANNING: old.id,
        State.RECEIVED: waiting.id,
    }
    assert (facts.waiting, facts.active) == (1, 3)


async def test_retried_submission_has_waited_since_its_arrival(store: Database) -> None:
    """G94."""
    retried = Row(age_seconds=5, waited_seconds=7200, due_seconds=60)
    facts = await facts_of(store, retried, Row(age_seconds=600))
    assert facts.oldest_waiting is not None
    assert (facts.oldest_waiting.id, facts.oldest_waiting.received_at) == (retried.id, NOW - timedelta(hours=2))


async def test_submission_without_a_job_counts_as_waiting(store: Database) -> None:
    """G94."""
    lost = Row(age_seconds=900, job=None)
    taken = Row(age_seconds=5000, lease_seconds=60, job="picked")
    facts = await facts_of(store, taken, lost, Row(age_seconds=600))
    assert facts.oldest_waiting is not None
    assert facts.oldest_waiting.id == lost.id
    assert [orphan.id for orphan in facts.orphans] == [lost.id]
    assert facts.saw_all_orphans


async def test_job_with_an_invalid_key_is_tolerated(store: Database) -> None:
    """G25."""
    async with store.begin() as db:
        for key in ("", "no-uuid:1", "x" * 36 + ":1", ":"):
            await add_job(db, Job(UUID(int=1), 1), key=key or "nothing")
    row = Row(age_seconds=10)
    facts = await facts_of(store, row)
    assert facts.oldest_waiting is not None
    assert facts.oldest_waiting.id == row.id


async def test_decisions_are_counted_by_stage(store: Database) -> None:
    """G94: of the last hour and six hours, folded or not."""
    async with store.begin() as db:
        await add_rows(db, [Row(State.REJECTED, job=None), Row(State.FAILED, job=None)])
        await db.execute(text("UPDATE submission_count_delta SET created_at = :at"), {"at": NOW - timedelta(hours=2)})
        await fold_counts(db)
        await add_rows(db, [Row(State.REJECTED, job=None), Row(State.TIER1_SCANNING)])
        await db.execute(text("UPDATE submission_count_delta SET created_at = :at"), {"at": NOW - timedelta(minutes=1)})
    async with store.snapshot() as db:
        flow = (await read_facts(db, NOW, LIMITS)).flow
    assert (flow.drain.last_1h, flow.drain.last_6h) == (1, 3)
    assert flow.stall[State.TIER1_SCANNING] == 1
    assert flow.stall[State.FAILED] == 0


async def test_cost_does_not_grow_with_the_backlog(database_url: str) -> None:
    """G99: with 20,000 waiting submissions."""
    async with open_database(database_url, PoolOptions(size=1)) as store:
        few = await _cost(store)
        await fill(store, 20_000)
        async with store.begin() as db:
            await db.execute(text("UPDATE submission_count_delta SET created_at = :at"), {"at": NOW})
            await fold_counts(db)
        await analyse(store)
        many = await _cost(store)
    assert few[0] == many[0] <= 25
    # For 500 submissions checked for a job, submission and job are read; 1,001 are counted as stuck.
    assert many[1] < 3000


async def _cost(store: Database) -> tuple[int, int]:
    """Return statements and rows."""
    before = await rows_read(store)
    with statements(store) as seen:
        async with store.snapshot() as db:
            await read_queue_health(db, NOW, LIMITS)
    return len(seen), await rows_read(store) - before


async def test_alarm_is_raised_and_cleared_once(store: Database) -> None:
    """G95: with the time it was raised."""
    clock = Clock(lambda: NOW)

    async def watch() -> list[str]:
        with capture_logs() as logs:
            async with store.begin() as db:
                await watch_queue(db, limits=LIMITS, clock=clock)
        return [line["alarm"] for line in logs]

    async with store.begin() as db:
        await add_rows(db, [Row(age_seconds=4000)])
    assert await watch() == ["no_worker", "oldest_waiting"]
    since = await _raised(store)
    assert await watch() == []
    assert await _raised(store) == since
    async with store.snapshot() as db:
        health = await read_queue_health(db, NOW, LIMITS)
    assert health.is_degraded
    by_code = {each.alarm.code: each.since for each in health.alarms}
    assert by_code[AlarmCode.NO_WORKER] == since["no_worker"]
    assert by_code[AlarmCode.DETECTOR_BLIND] == NOW
    async with store.begin() as db:
        await db.execute(text("UPDATE submission SET state = 'REJECTED', reason_code = 'x', reason_message = 'y'"))
    assert sorted(await watch()) == ["no_worker", "oldest_waiting"]
    assert await _raised(store) == {}
    assert await watch() == []


async def _raised(store: Database) -> Mapping[str, datetime]:
    async with store.begin() as db:
        return await list_alarms(db)


async def test_facts_are_one_snapshot(database_url: str) -> None:
    """G10."""
    row = Row(age_seconds=100)
    async with open_database(database_url) as store:
        async with store.begin() as db:
            await add_rows(db, [row])
        async with store.snapshot() as db:
            await db.execute(text("SELECT 1"))
            async with store.begin() as other:
                await other.execute(text("DELETE FROM pgqueuer"))
                await other.execute(text("DELETE FROM submission"))
            facts = await read_facts(db, NOW, LIMITS)
    assert (facts.waiting, facts.oldest[State.RECEIVED].id, list(facts.orphans)) == (1, row.id, [])
