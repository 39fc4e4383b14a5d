"""Positions: the real claim order, at bounded cost."""

from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from sqlalchemy import text

from assay.model.job import ENTRYPOINT, Job, decode_job
from assay.store.database.database import Database, open_database
from assay.store.queue.jobs import enqueue
from assay.store.queue.order import find_claim_orders, list_jobs_in_claim_order
from assay.store.queue.pgqueuer import queries_on
from assay.store.queue.position import MAX_SCANNED, Position, find_positions
from tests.support.web.statements import statements

FILL = text(
    """
    INSERT INTO pgqueuer (priority, status, entrypoint, dedupe_key, payload)
    SELECT CASE WHEN number <= 5 THEN 1 ELSE 0 END, 'queued', 'submission', concat_ws(':', gen_random_uuid(), 1), ''
    FROM generate_series(1, CAST(:number AS int)) AS number
    """
)
ALL = text("SELECT dedupe_key FROM pgqueuer ORDER BY priority DESC, id")
LATER = text("UPDATE pgqueuer SET execute_after = now() + make_interval(secs => :seconds) WHERE dedupe_key = :key")


async def put(store: Database, priorities: list[int]) -> list[Job]:
    """Enqueue one job per priority."""
    jobs = [Job(uuid4(), 1) for _ in priorities]
    async with store.begin() as db:
        await db.execute(text("SELECT 1"))
        await enqueue(db, jobs, priorities)
    return jobs


async def postpone(store: Database, job: Job, seconds: int) -> None:
    """Delay a job."""
    async with store.begin() as db:
        await db.execute(LATER, {"seconds": seconds, "key": job.key})


async def claim_all(database_url: str) -> list[UUID]:
    """Claim all jobs one by one."""
    connection = await asyncpg.connect(database_url)
    queries, claimed = queries_on(AsyncpgDriver(connection)), []
    wanted = {ENTRYPOINT: EntrypointExecutionParameter(concurrency_limit=0)}
    while jobs := await queries.dequeue(1, wanted, uuid4(), None, timedelta(hours=1)):  # type: ignore[arg-type]
        claimed += [decode_job(job.payload).subject_id for job in jobs if job.payload]
    await connection.close()
    return claimed


async def numbers(store: Database, jobs: list[Job]) -> dict[UUID, int]:
    """Return the positions of these jobs."""
    async with store.snapshot() as db:
        found = await find_positions(db, jobs)
    assert all(position.is_exact for position in found.values())
    return {subject: position.number for subject, position in found.items()}


async def test_positions_match_the_claim_order(database_url: str) -> None:
    """G29: one by one, all at once, and by the ordered list."""
    async with open_database(database_url) as store:
        jobs = await put(store, [0, 5, 0, -3, 5, 0, 7, 0])
        await postpone(store, jobs[2], 3600)
        await postpone(store, jobs[4], 60)
        at_once = await numbers(store, jobs)
        one_by_one = {key: number for job in jobs for key, number in (await numbers(store, [job])).items()}
        async with store.snapshot() as db:
            line = await list_jobs_in_claim_order(db, after=None, limit=100)
            turns = await find_claim_orders(db, jobs)
        claimed = await claim_all(database_url)
    expected = [*claimed, jobs[4].subject_id, jobs[2].subject_id]
    assert len(claimed) == 6
    assert sorted(at_once, key=at_once.__getitem__) == expected
    assert sorted(at_once.values()) == list(range(1, 9))
    assert one_by_one == at_once
    assert [job.subject_id for _, job in line] == expected
    assert {job.subject_id: turn for turn, job in line} == turns


async def test_positions_without_delayed_jobs_use_the_index_only(database_url: str) -> None:
    async with open_database(database_url) as store:
        jobs = await put(store, [number % 3 for number in range(40)])
        at_once = await numbers(store, jobs)
        some = await numbers(store, jobs[7:9])
        one_by_one = {key: number for job in jobs for key, number in (await numbers(store, [job])).items()}
        claimed = await claim_all(database_url)
    assert {subject: number for number, subject in enumerate(claimed, 1)} == at_once == one_by_one
    assert some == {subject: at_once[subject] for subject in some}


async def test_jobs_that_do_not_wait_have_no_position(database_url: str) -> None:
    """Running, finished, unknown or of another cycle."""
    async with open_database(database_url) as store:
        jobs = await put(store, [0, 0, 0])
        async with store.begin() as db:
            await db.execute(
                text("UPDATE pgqueuer SET status = 'picked' WHERE dedupe_key = :key"), {"key": jobs[0].key}
            )
        found = await numbers(store, [*jobs, Job(uuid4(), 1), Job(jobs[1].subject_id, 2)])
        async with store.snapshot() as db:
            assert await find_positions(db, []) == {}
    assert found == {jobs[1].subject_id: 1, jobs[2].subject_id: 2}


async def test_order_can_be_read_from_any_position(database_url: str) -> None:
    """Running, due, delayed, held."""
    async with open_database(database_url) as store:
        jobs = await put(store, [0, 3, 0, 3, 0, 0, 0, 0, 0])
        await postpone(store, jobs[0], 60)
        await postpone(store, jobs[1], 30)
        change = text("UPDATE pgqueuer SET status = CAST(:status AS pgqueuer_status) WHERE dedupe_key = :key")
        async with store.begin() as db:
            for number, status in ((4, "picked"), (5, "picked"), (6, "failed"), (7, "failed")):
                await db.execute(change, {"key": jobs[number].key, "status": status})
        async with store.snapshot() as db:
            whole = await list_jobs_in_claim_order(db, after=None, limit=100)
            for size in (1, 2, 4):
                pages, after = [], None
                while page := await list_jobs_in_claim_order(db, after=after, limit=size):
                    pages += page
                    after = page[-1][0]
                assert pages == whole
    assert [job for _, job in whole] == [jobs[number] for number in (4, 5, 3, 2, 8, 1, 0, 6, 7)]


@pytest.mark.parametrize("delayed", [False, True])
async def test_positions_are_exact_up_to_10000(database_url: str, delayed: bool) -> None:
    async with open_database(database_url) as store:
        async with store.begin() as db:
            await db.execute(FILL, {"number": MAX_SCANNED + 2_000})
            keys = [str(key) for key in (await db.execute(ALL)).scalars()]
        if delayed:
            [extra] = await put(store, [0])
            await postpone(store, extra, 60)
        jobs = [Job(UUID(key.partition(":")[0]), 1) for key in keys]
        places = [0, 3, 4, 5, 6, 4_000, MAX_SCANNED - 2, MAX_SCANNED + 1, MAX_SCANNED + 1_500]
        async with store.snapshot() as db:
            with statements(store) as few:
                found = await find_positions(db, [jobs[place] for place in places])
            with statements(store) as many:
                await find_positions(db, jobs[100:200])
            alone = {place: (await find_positions(db, [jobs[place]]))[jobs[place].subject_id] for place in places}
    assert len(few) == len(many) <= 3
    for place in places:
        expected = (
            Position(place + 1, is_exact=True) if place < MAX_SCANNED else Position(MAX_SCANNED + 1, is_exact=False)
        )
        assert found[jobs[place].subject_id] == alone[place] == expected, place
