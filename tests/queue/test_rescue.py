"""Rescue of lost and held jobs."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from assay.model.job import Job
from assay.model.submission import State
from assay.queue.rescue import RESCUE_ORPHANS, rescue_held_jobs, rescue_orphans
from assay.runtime.periodic import PeriodicJob
from assay.store.database.database import Database, open_database
from assay.store.operations.periodic_jobs import register_periodic_jobs
from assay.store.queue.held_jobs import list_unreadable_jobs
from tests.support.backlog import NOW, Row, add_job, add_rows
from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.web.statements import statements


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a worker."""
    async with open_database(database_url) as opened:
        yield opened


def at(moment: datetime = NOW):
    """Return a fixed clock."""
    return lambda: moment


async def jobs(store: Database) -> dict[str, list[str]]:
    """Return the states of all jobs by key."""
    async with store.begin() as db:
        rows = await db.execute(text("SELECT dedupe_key, status::text FROM pgqueuer ORDER BY id"))
        found: dict[str, list[str]] = {}
        for key, status in rows:
            found.setdefault(key, []).append(status)
        return found


async def rescue_held(store: Database) -> int:
    """Run the periodic job once."""
    async with store.begin() as db:
        return await rescue_held_jobs(db)


async def rescue_lost(store: Database, now: datetime = NOW, window_size: int = 100) -> int:
    """Run the periodic job once."""
    async with store.begin() as db:
        return await rescue_orphans(db, at(now), window_size)


async def test_held_job_is_requeued(store: Database) -> None:
    """G25."""
    waiting = Row(job="failed")
    async with store.begin() as db:
        await add_rows(db, [waiting])
    assert await rescue_held(store) == 1
    assert await jobs(store) == {f"{waiting.id}:1": ["queued"]}


async def test_obsolete_held_jobs_are_dropped(store: Database) -> None:
    """G25: those with a taken key; the rest is requeued."""
    twice, doubled, plain = Row(job="failed"), Row(job="failed"), Row(job="failed")
    over = Row(State.FAILED, job="failed")
    async with store.begin() as db:
        await add_rows(db, [twice, doubled, plain, over])
        await add_job(db, Job(twice.id, 1))
        await add_job(db, Job(doubled.id, 1), status="failed")
        await add_job(db, Job(plain.id, 2), status="failed")
        await add_job(db, Job(uuid4(), 1), status="failed")
    assert await rescue_held(store) == 2
    assert await jobs(store) == {f"{row.id}:1": ["queued"] for row in (twice, doubled, plain)}
    assert await rescue_held(store) == 0


async def test_held_job_of_a_locked_submission_is_left_for_the_next_run(store: Database) -> None:
    busy, free = Row(job="failed"), Row(job="failed")
    async with store.begin() as db:
        await add_rows(db, [busy, free])
    async with store.begin() as other:
        await other.execute(text("SELECT FROM submission WHERE id = :id FOR UPDATE"), {"id": busy.id})
        assert await rescue_held(store) == 1
        assert await jobs(store) == {f"{busy.id}:1": ["failed"], f"{free.id}:1": ["queued"]}
    assert await rescue_held(store) == 1


@pytest.mark.parametrize("payload", [b"", b"\xff\x00", b"{}", b'{"subject_id": "no", "cycle": 1}', b"null"])
async def test_unreadable_job_is_set_aside_and_reported(store: Database, payload: bytes) -> None:
    """G25: its submission gets a new job."""
    broken, fine = Row(age_seconds=300, job=None), Row(job="failed")
    async with store.begin() as db:
        await add_rows(db, [broken, fine])
        await add_job(db, Job(broken.id, 1), status="failed", payload=payload)
    with capture_logs() as logs:
        assert await rescue_held(store) == 1
    assert [line["number"] for line in logs if line["log_level"] == "error"] == [1]
    async with store.begin() as db:
        assert len(await list_unreadable_jobs(db, 10)) == 1
    with capture_logs() as logs:
        assert await rescue_held(store) == 0
        assert await rescue_lost(store) == 1
    assert await jobs(store) == {None: ["failed"], f"{fine.id}:1": ["queued"], f"{broken.id}:1": ["queued"]}


async def test_job_that_contradicts_its_key_is_set_aside(store: Database) -> None:
    """G25."""
    row, other = Row(job=None), Row()
    async with store.begin() as db:
        await add_rows(db, [row, other])
        await add_job(db, Job(row.id, 1), status="failed", key=f"{other.id}:1")
    assert await rescue_held(store) == 0
    async with store.begin() as db:
        assert len(await list_unreadable_jobs(db, 10)) == 1


@pytest.mark.process
async def test_orphan_is_processed(registry: Registry) -> None:
    """G25."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    lost = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    other = await registry.submit("acme/tools", "csv", "skills/csv/SKILL.md")
    store = registry.app.store
    async with store.begin() as db:
        gone = text("DELETE FROM pgqueuer WHERE dedupe_key LIKE :id || ':%'")
        assert (await db.execute(gone, {"id": lost["id"]})).rowcount == 1
    now = registry.app.clock.now()
    assert await rescue_lost(store, now) == 0, "it may be on its way"
    with capture_logs() as logs:
        assert await rescue_lost(store, now + timedelta(seconds=61)) == 1
    assert [line["submission_ids"] for line in logs if line["log_level"] == "error"] == [[lost["id"]]]
    assert await rescue_lost(store, now + timedelta(seconds=61)) == 0
    await registry.work()
    states = {(await registry.read(each["id"]))["state"] for each in (lost, other)}
    assert states == {"PUBLISHED"}


async def test_only_abandoned_submissions_are_orphans(store: Database) -> None:
    """G25: not with a lease, a job, or a final state."""
    rows = {
        "alive": Row(State.TIER1_SCANNING, 300, lease_seconds=5, job=None),
        "dead": Row(State.TIER1_SCANNING, 300, lease_seconds=-5, job=None, priority=3),
        "waiting": Row(age_seconds=300),
        "running": Row(age_seconds=300, job="picked"),
        "held": Row(age_seconds=300, job="failed"),
        "over": Row(State.REJECTED, 300, job=None),
        "lost": Row(age_seconds=300, job=None, priority=7),
        "young": Row(age_seconds=59, job=None),
    }
    async with store.begin() as db:
        await add_rows(db, list(rows.values()))
        await add_job(db, Job(rows["lost"].id, 2))
    before = await jobs(store)
    assert await rescue_lost(store) == 2
    assert set(await jobs(store)) - set(before) == {f"{rows['dead'].id}:1", f"{rows['lost'].id}:1"}
    async with store.begin() as db:
        query = text("SELECT priority FROM pgqueuer WHERE dedupe_key = ANY(:keys) ORDER BY 1")
        keys = [f"{rows['dead'].id}:1", f"{rows['lost'].id}:1"]
        assert (await db.execute(query, {"keys": keys})).scalars().all() == [3, 7]


async def test_concurrent_rescuers_create_one_job(store: Database) -> None:
    """G25."""
    lost = [Row(age_seconds=300, job=None) for _ in range(50)]
    async with store.begin() as db:
        await add_rows(db, lost)
    rescued = await asyncio.gather(*(rescue_lost(store) for _ in range(8)))
    assert sum(rescued) == 50
    assert await jobs(store) == {f"{row.id}:1": ["queued"] for row in lost}


async def test_locked_orphan_is_left_alone(store: Database) -> None:
    row = Row(age_seconds=300, job=None)
    async with store.begin() as db:
        await add_rows(db, [row])
    async with store.begin() as other:
        await other.execute(text("SELECT FROM submission WHERE id = :id FOR UPDATE"), {"id": row.id})
        assert await rescue_lost(store) == 0
        await add_job(other, Job(row.id, 1))
    assert await rescue_lost(store) == 0
    assert await jobs(store) == {f"{row.id}:1": ["queued"]}


async def test_long_backlog_is_scanned_in_parts(store: Database) -> None:
    """G99."""
    rows = [Row(age_seconds=1000 - number, job="queued" if number != 6 else None) for number in range(8)]
    async with store.begin() as db:
        await register_periodic_jobs(db, [PeriodicJob(RESCUE_ORPHANS, 1, 1, rescue_held_jobs).schedule])
        await add_rows(db, rows)
    assert [await rescue_lost(store, window_size=3) for _ in range(3)] == [0, 0, 1]
    await forget_job(store, rows[0].id)
    assert [await rescue_lost(store, window_size=3) for _ in range(2)] == [1, 0]


async def forget_job(store: Database, number: UUID) -> None:
    """Create an orphan."""
    async with store.begin() as db:
        await db.execute(text("DELETE FROM pgqueuer WHERE dedupe_key = :key"), {"key": f"{number}:1"})


async def test_rescue_uses_a_constant_number_of_statements(store: Database) -> None:
    """G99."""
    assert await _statements(store, 1) == await _statements(store, 40)


async def _statements(store: Database, number: int) -> int:
    async with store.begin() as db:
        await add_rows(db, [Row(job="failed") for _ in range(number)])
        await add_rows(db, [Row(age_seconds=300, job=None) for _ in range(number)])
    with statements(store) as seen:
        assert await rescue_held(store) == number
        assert await rescue_lost(store) == number
    return len(seen)
