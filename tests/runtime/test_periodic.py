"""Periodic jobs: each has a time limit, and failures are visible."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from assay.runtime.periodic import PeriodicJob, run_periodic_job, run_periodically
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.operations.periodic_jobs import (
    PeriodicJobRecord,
    list_periodic_jobs,
    record_failure,
    register_periodic_jobs,
)
from tests.support.processes import until

BUDGET = 30.0
PATIENCE_SECONDS = 30


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a process."""
    async with open_database(database_url) as opened:
        yield opened


def a_chore(work: Callable[[AsyncConnection], Awaitable[int]], name: str = "tidy up", **schedule: float) -> PeriodicJob:
    """Return a periodic job that is always due."""
    return PeriodicJob(name, schedule.get("every_seconds", 0.0), schedule.get("budget_seconds", BUDGET), work)


async def nothing(_db: AsyncConnection) -> int:
    """Do nothing."""
    return 0


async def record(store: Database, name: str = "tidy up") -> PeriodicJobRecord:
    """Return the record of a periodic job."""
    async with store.begin() as db:
        return {chore.schedule.name: chore for chore in await list_periodic_jobs(db)}[name]


async def failures(store: Database, name: str = "tidy up") -> int:
    """Return the number of consecutive failures."""
    async with store.begin() as db:
        return next((chore.failures for chore in await list_periodic_jobs(db) if chore.schedule.name == name), 0)


@dataclass(frozen=True)
class Worker:
    """Periodic jobs as a worker runs them."""

    tasks: list[asyncio.Task[None]]

    async def until(self, read: Callable[[], Awaitable[int]], number: int) -> None:
        """Wait for a value; raise if a periodic job has ended."""

        async def reached() -> bool:
            assert not any(task.done() for task in self.tasks), "a chore has ended"
            return await read() >= number

        await until(reached, PATIENCE_SECONDS)


@asynccontextmanager
async def running(store: Database, *chores: PeriodicJob) -> AsyncIterator[Worker]:
    """Run periodic jobs for the block."""
    stopping = asyncio.Event()
    tasks = [asyncio.create_task(run_periodically(store, chore, stopping)) for chore in chores]
    try:
        yield Worker(tasks)
    finally:
        stopping.set()
        await asyncio.gather(*tasks)


async def test_success_is_recorded_with_the_work(store: Database) -> None:
    """G31: in one transaction, with duration and amount."""

    async def work(db: AsyncConnection) -> int:
        await db.execute(text("INSERT INTO alarm (code, message) VALUES ('made by the chore', '')"))
        return 7

    turn = await run_periodic_job(store, a_chore(work))
    assert turn.amount == 7
    known = await record(store)
    assert (known.amount, known.failures, known.error) == (7, 0, None)
    assert known.succeeded_at is not None
    assert known.duration_ms is not None
    assert known.duration_ms >= 0


async def test_failed_commit_records_no_success(store: Database) -> None:
    """G31."""

    async def work(db: AsyncConnection) -> int:
        await db.execute(text("CREATE TABLE fragile (number int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
        await db.execute(text("INSERT INTO fragile VALUES (1), (1)"))
        return 2

    async with running(store, a_chore(work)) as worker:
        await worker.until(lambda: failures(store), 1)
    known = await record(store)
    assert known.succeeded_at is None
    assert known.error is not None
    assert "fragile" in known.error


@pytest.mark.parametrize(
    "problem", [ZeroDivisionError("a bug"), FileNotFoundError("no such file"), TimeoutError("slow")]
)
async def test_error_is_recorded_and_stops_nothing_else(store: Database, problem: Exception) -> None:
    """G30, G31."""
    done = 0

    async def broken(db: AsyncConnection) -> int:
        await db.execute(text("INSERT INTO alarm (code, message) VALUES ('half done', '')"))
        raise problem

    async def fine(_db: AsyncConnection) -> int:
        nonlocal done
        done += 1
        return done

    with capture_logs() as logs:
        async with running(store, a_chore(broken, "broken"), a_chore(fine, "fine")) as worker:
            await worker.until(lambda: failures(store, "broken"), 2)
            before = done
            await worker.until(lambda: _value(done), before + 2)
    assert [line for line in logs if line["event"] == "Periodic job failed" and line["exc_info"]]
    known = await record(store, "broken")
    assert known.error is not None
    assert str(problem) in known.error
    assert known.succeeded_at is None
    async with store.begin() as db:
        assert (await db.execute(text("SELECT count(*) FROM alarm"))).scalar_one() == 0, "its half work was kept"


async def test_hanging_job_is_cancelled_and_retried(store: Database) -> None:
    """G30."""
    turns = 0

    async def hanging(_db: AsyncConnection) -> int:
        nonlocal turns
        turns += 1
        await asyncio.Event().wait()
        return 0

    chores = a_chore(hanging, "hanging", budget_seconds=0.1), a_chore(nothing, "fine")
    async with running(store, *chores) as worker:
        await worker.until(lambda: failures(store, "hanging"), 2)
    assert turns >= 2
    known = await record(store, "hanging")
    assert known.error == "took longer than 0.1 s"
    assert (await record(store, "fine")).succeeded_at is not None


async def test_periodic_jobs_run_concurrently(store: Database) -> None:
    """G30: each waits until all others have started."""
    everybody = asyncio.Barrier(5)

    async def work(_db: AsyncConnection) -> int:
        await everybody.wait()
        return 1

    names = [f"chore {number}" for number in range(5)]
    async with running(store, *(a_chore(work, name, every_seconds=600) for name in names)) as worker:
        await worker.until(lambda: _done(store), 5)


async def test_statements_are_limited_by_the_time_limit(database_url: str) -> None:
    """G30: by the server; the next user of the connection has the default."""
    limits: list[str] = []

    async def work(db: AsyncConnection) -> int:
        limits.append((await db.execute(text("SHOW statement_timeout"))).scalar_one())
        return 0

    async with open_database(database_url, PoolOptions(size=1)) as one:
        await run_periodic_job(one, a_chore(work, budget_seconds=7))
        async with one.begin() as db:
            await work(db)
    assert limits == ["7s", "15s"]


async def test_success_resets_the_failure_count(store: Database) -> None:
    chore = a_chore(nothing)
    async with store.begin() as db:
        await record_failure(db, chore.schedule, "once", 1)
        await record_failure(db, chore.schedule, "twice", 1)
    assert (await record(store)).failures == 2
    await run_periodic_job(store, chore)
    assert (await record(store)).failures == 0


async def test_periodic_job_runs_in_one_process_at_a_time(database_url: str) -> None:
    inside, most, turns = 0, 0, 0

    async def work(db: AsyncConnection) -> int:
        nonlocal inside, most, turns
        inside += 1
        turns += 1
        most = max(most, inside)
        await db.execute(text("SELECT 1"))
        await db.execute(text("SELECT 2"))
        inside -= 1
        return 1

    chore = a_chore(work)
    async with (
        open_database(database_url) as one,
        open_database(database_url) as other,
        running(one, chore) as worker,
        running(other, chore, chore),
    ):
        await worker.until(lambda: _value(turns), 40)
    assert most == 1


async def test_periodic_job_runs_once_per_interval_across_processes(database_url: str) -> None:
    chore = a_chore(nothing, every_seconds=600)
    async with open_database(database_url) as one, open_database(database_url) as other:
        assert (await run_periodic_job(one, chore)).amount == 0
        again = await run_periodic_job(other, chore)
        assert again.amount is None
        assert 0 < again.again_seconds <= 600
        async with other.begin() as db:
            await db.execute(text("UPDATE chore SET succeeded_at = succeeded_at - interval '10 minutes'"))
        assert (await run_periodic_job(other, chore)).amount == 0
        async with other.begin() as db:
            await db.execute(text("UPDATE chore SET succeeded_at = succeeded_at + interval '1 hour'"))
        assert (await run_periodic_job(other, chore)).amount == 0, "a turn in the future is none"


async def test_outage_is_not_a_failure(store: Database) -> None:
    """G30: turns are skipped."""
    gone_url = store.engine.url.set(database="gone").render_as_string(hide_password=False)
    async with open_database(gone_url) as gone:
        with capture_logs() as logs:
            async with running(gone, a_chore(nothing)) as worker:
                await worker.until(lambda: _value(_skipped(logs)), 3)
    # The outage is logged once, by the database; the periodic jobs log none.
    assert {line["event"][:24] for line in logs if line["log_level"] == "error"} <= {"Database is down: reads "}


async def test_unrun_periodic_job_is_registered(store: Database) -> None:
    """G31: unknown ones are forgotten."""
    schedules = [a_chore(nothing, "new").schedule, a_chore(nothing, "other").schedule]
    async with store.begin() as db:
        await register_periodic_jobs(db, [*schedules, a_chore(nothing, "old").schedule])
    first = await record(store, "new")
    async with store.begin() as db:
        await register_periodic_jobs(db, schedules)
    async with store.begin() as db:
        assert [chore.schedule.name for chore in await list_periodic_jobs(db)] == ["new", "other"]
    assert (await record(store, "new")).known_since == first.known_since
    assert first.succeeded_at is None


async def _done(store: Database) -> int:
    async with store.begin() as db:
        return len([chore for chore in await list_periodic_jobs(db) if chore.amount == 1])


def _skipped(logs: list) -> int:
    return len([line for line in logs if line["event"] == "Skipped a periodic job"])


async def _value(number: int) -> int:
    return number
