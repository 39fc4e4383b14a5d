"""The worker: bounded, graceful, and it gives back what it cannot finish."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest
from sqlalchemy import text

from assay.model.job import Job
from assay.queue.outcome import Again, Done, Outcome
from assay.queue.rescue import rescue_held_jobs
from assay.queue.retry import RetryBudget
from assay.queue.worker import WorkerOptions, run_worker
from assay.store.database.database import Database, open_database
from assay.store.queue.enqueue import enqueue
from tests.support.backlog import Row, add_rows
from tests.support.processes import until

OPTIONS = WorkerOptions(batch=10, concurrency=20, lease_seconds=2, stop_seconds=0)


async def fill(store: Database, number: int) -> list[Job]:
    """Jobs about nothing."""
    jobs = [Job(uuid4(), 1) for _ in range(number)]
    async with store.begin() as db:
        await db.execute(text("SELECT 1"))
        await enqueue(db, jobs, [0] * number)
    return jobs


async def waiting(store: Database) -> int:
    """Jobs that are still in the queue."""
    async with store.begin() as db:
        return (await db.execute(text("SELECT count(*) FROM pgqueuer"))).scalar_one()


async def work_until(url: str, handle, enough: Callable[[], bool], options: WorkerOptions = OPTIONS) -> None:
    """Run a worker until something has happened."""
    stopping = asyncio.Event()
    worker = asyncio.create_task(run_worker(url, handle, options, stopping))

    async def reached() -> bool:
        return enough()

    try:
        await until(reached, 60)
    finally:
        stopping.set()
        await worker


async def test_200_jobs_are_in_flight_and_never_more(database_url: str) -> None:
    """G23: batch 10 × concurrency 20, measured while 500 jobs wait."""
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


async def test_what_cannot_be_finished_is_given_back_at_once(database_url: str) -> None:
    """Design §2: a stopping worker releases its jobs; another one has them without waiting for a lease to end."""
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


async def test_again_keeps_the_job_until_it_is_done(database_url: str) -> None:
    """A job that says `Again` comes back; one that says `Done` is gone."""
    tries = 0

    async def handle(_job: Job) -> Outcome:
        nonlocal tries
        tries += 1
        return Done() if tries == 3 else Again(0)

    async with open_database(database_url) as store:
        await fill(store, 1)
        await work_until(database_url, handle, lambda: tries == 3)
        assert await waiting(store) == 0


async def test_a_handler_that_breaks_does_not_lose_its_job(database_url: str) -> None:
    """G25: the job is held, the worker goes on, and the rescue gives it back to the queue."""
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
def test_retries_are_three_and_spaced(attempts: int, delay: float | None) -> None:
    """Design §6: 30·n seconds, three times, then the end."""
    assert RetryBudget().delay(attempts) == delay
