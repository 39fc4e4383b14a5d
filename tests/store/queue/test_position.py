"""Positions: the order in which the queue really hands out jobs, counted at a bounded cost."""

from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from sqlalchemy import text

from assay.model.job import ENTRYPOINT, Job, decode_job
from assay.store.database.database import Database, open_database
from assay.store.queue.enqueue import enqueue
from assay.store.queue.order import find_turns, list_line
from assay.store.queue.pgqueuer import queries_on
from assay.store.queue.position import LOOK_AT_MOST, Position, find_positions
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
    """One job for each priority, in this order."""
    jobs = [Job(uuid4(), 1) for _ in priorities]
    async with store.begin() as db:
        await db.execute(text("SELECT 1"))
        await enqueue(db, jobs, priorities)
    return jobs


async def postpone(store: Database, job: Job, seconds: int) -> None:
    """Its time has not come."""
    async with store.begin() as db:
        await db.execute(LATER, {"seconds": seconds, "key": job.key})


async def claim_all(database_url: str) -> list[UUID]:
    """What the queue hands out, one by one."""
    connection = await asyncpg.connect(database_url)
    queries, claimed = queries_on(AsyncpgDriver(connection)), []
    wanted = {ENTRYPOINT: EntrypointExecutionParameter(concurrency_limit=0)}
    while jobs := await queries.dequeue(1, wanted, uuid4(), None, timedelta(hours=1)):  # type: ignore[arg-type]
        claimed += [decode_job(job.payload).subject_id for job in jobs if job.payload]
    await connection.close()
    return claimed


async def numbers(store: Database, jobs: list[Job]) -> dict[UUID, int]:
    """The positions of these."""
    async with store.snapshot() as db:
        found = await find_positions(db, jobs)
    assert all(position.is_exact for position in found.values())
    return {subject: position.number for subject, position in found.items()}


async def test_positions_are_the_order_of_claims(database_url: str) -> None:
    """G29: asked one by one, all at once, and by the line itself, it is the order in which jobs are handed out."""
    async with open_database(database_url) as store:
        jobs = await put(store, [0, 5, 0, -3, 5, 0, 7, 0])
        await postpone(store, jobs[2], 3600)
        await postpone(store, jobs[4], 60)
        at_once = await numbers(store, jobs)
        one_by_one = {key: number for job in jobs for key, number in (await numbers(store, [job])).items()}
        async with store.snapshot() as db:
            line = await list_line(db, after=None, limit=100)
            turns = await find_turns(db, jobs)
        claimed = await claim_all(database_url)
    expected = [*claimed, jobs[4].subject_id, jobs[2].subject_id]
    assert len(claimed) == 6
    assert sorted(at_once, key=at_once.__getitem__) == expected
    assert sorted(at_once.values()) == list(range(1, 9))
    assert one_by_one == at_once
    assert [job.subject_id for _, job in line] == expected
    assert {job.subject_id: turn for turn, job in line} == turns


async def test_without_delays_every_job_is_counted_in_the_index_alone(database_url: str) -> None:
    """The same numbers, whether or not somebody waits for a time."""
    async with open_database(database_url) as store:
        jobs = await put(store, [number % 3 for number in range(40)])
        at_once = await numbers(store, jobs)
        some = await numbers(store, jobs[7:9])
        one_by_one = {key: number for job in jobs for key, number in (await numbers(store, [job])).items()}
        claimed = await claim_all(database_url)
    assert {subject: number for number, subject in enumerate(claimed, 1)} == at_once == one_by_one
    assert some == {subject: at_once[subject] for subject in some}


async def test_what_does_not_wait_has_no_position(database_url: str) -> None:
    """Running, over, unknown, of another round: left out, and ahead of nobody."""
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


async def test_the_line_can_be_read_from_any_place(database_url: str) -> None:
    """Page by page it is the same line: what runs, what is due, what waits for its time, what is held."""
    async with open_database(database_url) as store:
        jobs = await put(store, [0, 3, 0, 3, 0, 0, 0, 0, 0])
        await postpone(store, jobs[0], 60)
        await postpone(store, jobs[1], 30)
        change = text("UPDATE pgqueuer SET status = CAST(:status AS pgqueuer_status) WHERE dedupe_key = :key")
        async with store.begin() as db:
            for number, status in ((4, "picked"), (5, "picked"), (6, "failed"), (7, "failed")):
                await db.execute(change, {"key": jobs[number].key, "status": status})
        async with store.snapshot() as db:
            whole = await list_line(db, after=None, limit=100)
            for size in (1, 2, 4):
                pages, after = [], None
                while page := await list_line(db, after=after, limit=size):
                    pages += page
                    after = page[-1][0]
                assert pages == whole
    assert [job for _, job in whole] == [jobs[number] for number in (4, 5, 3, 2, 8, 1, 0, 6, 7)]


@pytest.mark.parametrize("delayed", [False, True])
async def test_a_long_line_is_counted_up_to_a_bound(database_url: str, delayed: bool) -> None:
    """Exact up to 10,000, at least that behind; and as many statements for a hundred as for two."""
    async with open_database(database_url) as store:
        async with store.begin() as db:
            await db.execute(FILL, {"number": LOOK_AT_MOST + 2_000})
            keys = [str(key) for key in (await db.execute(ALL)).scalars()]
        if delayed:
            [extra] = await put(store, [0])
            await postpone(store, extra, 60)
        jobs = [Job(UUID(key.partition(":")[0]), 1) for key in keys]
        places = [0, 3, 4, 5, 6, 4_000, LOOK_AT_MOST - 2, LOOK_AT_MOST + 1, LOOK_AT_MOST + 1_500]
        async with store.snapshot() as db:
            with statements(store) as few:
                found = await find_positions(db, [jobs[place] for place in places])
            with statements(store) as many:
                await find_positions(db, jobs[100:200])
            alone = {place: (await find_positions(db, [jobs[place]]))[jobs[place].subject_id] for place in places}
    assert len(few) == len(many) <= 3
    for place in places:
        expected = (
            Position(place + 1, is_exact=True) if place < LOOK_AT_MOST else Position(LOOK_AT_MOST + 1, is_exact=False)
        )
        assert found[jobs[place].subject_id] == alone[place] == expected, place
