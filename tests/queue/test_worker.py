"""The worker: bounded, graceful, and it releases unfinished jobs."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest
from sqlalchemy import text

from assay.model.job import Job
from assay.queue.outcome import Done, Outcome, Retry, RetryPolicy
from assay.queue.rescue import rescue_held_jobs
from assay.queue.worker import WorkerOptions, run_worker
from assay.store.database.database import Database, open_database
from assay.store.queue.jobs import enqueue
from tests.support.backlog import Row, add_rows
from tests.support.processes import until

OPTIONS = WorkerOptions(batch=10, concurrency=20, lease_seconds=2, stop_seconds=0)


async def fill(store: Database, number: int) -> list[Job]:
    """Enqueue empty jobs."""
    jobs = [Job(uuid4(), 1) for _ in range(number)]
    async with store.begin() as db:
        await db.execute(text("SELECT 1"))
        await enqueue(db, jobs, [0] * number)
    return jobs


async def waiting(store: Database) -> int:
    """Return the number of jobs in the queue."""
    async with store.begin() as db:
        return (await db.execute(text("SELECT count(*) FROM pgqueuer"))).scalar_one()


async def work_until(url: str, handle, enough: Callable[[], bool], options: WorkerOptions = OPTIONS) -> None:
    """Run a worker until a condition holds."""
    stopping = asyncio.Event()
    worker = asyncio.create_task(run_worker(url, handle, options, stopping))

    async def reached() -> bool:
        return enough()

    try:
        await until(reached, 60)
    finally:
        stopping.set()
        await worker


async def test_at_most_200_jobs_are_in_flight(database_url: str) -> None:
    """G23: batch 10 × concurrency 20, with 500 waiting."""
    running, most, release = set[Job](), 0, asyncio.Event()
    finished = 0

    async def handle(job: Job) -> Outcome:
        nonlocal most, finished
        running.add(job)
        most = max(most, len(running))
        if most >= OPTIONS.in_flight:
            release.set()
        await release.wait()
        running.discard(job)
        finished += 1
        return Done()

    async with open_database(database_url) as store:
        await fill(store, 500)
        await work_until(database_url, handle, lambda: finished == 500)
        assert most == OPTIONS.in_flight == 200
        assert await waiting(store) == 0


async def test_stopping_worker_releases_its_jobs(database_url: str) -> None:
    started: list[Job] = []

    async def never(job: Job) -> Outcome:
        started.append(job)
        await asyncio.Event().wait()
        return Done()

    done: list[Job] = []

    async def quick(job: Job) -> Outcome:
        done.append(job)
        return Done()

    async with open_database(database_url) as store:
        jobs = await fill(store, 20)
        await work_until(database_url, never, lambda: len(started) == 20)
        async with store.begin() as db:
            states = await db.execute(text("SELECT status::text, count(*) FROM pgqueuer GROUP BY 1"))
            assert [tuple(row) for row in states] == [("queued", 20)]
        await work_until(database_url, quick, lambda: len(done) == 20)
        assert {job.subject_id for job in done} == {job.subject_id for job in jobs}


async def test_retried_job_stays_until_it_is_done(database_url: str) -> None:
    tries = 0

    async def handle(_job: Job) -> Outcome:
        nonlocal tries
        tries += 1
        return Done() if tries == 3 else Retry(0)

    async with open_database(database_url) as store:
        await fill(store, 1)
        await work_until(database_url, handle, lambda: tries == 3)
        assert await waiting(store) == 0


async def test_failing_handler_does_not_lose_its_job(database_url: str) -> None:
    """G25: it is held and rescued."""
    tries = 0

    async def handle(_job: Job) -> Outcome:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise RuntimeError("a bug beyond the edge")
        return Done()

    async with open_database(database_url) as store:
        async with store.begin() as db:
            await add_rows(db, [Row()])
        await work_until(database_url, handle, lambda: tries == 1)
        assert await waiting(store) == 1
        async with store.begin() as db:
            assert await rescue_held_jobs(db) == 1
        await work_until(database_url, handle, lambda: tries == 2)
        assert await waiting(store) == 0


@pytest.mark.parametrize(("attempts", "delay"), [(1, 30), (2, 60), (3, 90), (4, None)])
def test_three_retries_with_growing_delays(attempts: int, delay: float | None) -> None:
    """30·n seconds."""
    assert RetryPolicy().delay(attempts) == delay
