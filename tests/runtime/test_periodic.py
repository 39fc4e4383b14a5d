"""Chores: each has its own budget, none stops another, and what fails can be seen."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from assay.runtime.periodic import Chore, do_chore, run_chore
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.operations.periodic_jobs import ChoreRecord, list_chores, record_failure, register_chores
from tests.support.processes import until

BUDGET = 30.0
PATIENCE_SECONDS = 30


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """The database of a process."""
    async with open_database(database_url) as opened:
        yield opened


def a_chore(work: Callable[[AsyncConnection], Awaitable[int]], name: str = "tidy up", **rhythm: float) -> Chore:
    """A chore that is always due."""
    return Chore(name, rhythm.get("every_seconds", 0.0), rhythm.get("budget_seconds", BUDGET), work)


async def nothing(_db: AsyncConnection) -> int:
    """Work that is done at once."""
    return 0


async def record(store: Database, name: str = "tidy up") -> ChoreRecord:
    """What is known of a chore."""
    async with store.begin() as db:
        return {chore.rhythm.name: chore for chore in await list_chores(db)}[name]


async def failures(store: Database, name: str = "tidy up") -> int:
    """How often it has failed in a row."""
    async with store.begin() as db:
        return next((chore.failures for chore in await list_chores(db) if chore.rhythm.name == name), 0)


@dataclass(frozen=True)
class Worker:
    """Chores that recur, as in a worker."""

    tasks: list[asyncio.Task[None]]

    async def until(self, read: Callable[[], Awaitable[int]], number: int) -> None:
        """Wait until it is so much; at once an error if a chore has ended."""

        async def reached() -> bool:
            assert not any(task.done() for task in self.tasks), "a chore has ended"
            return await read() >= number

        await until(reached, PATIENCE_SECONDS)


@asynccontextmanager
async def running(store: Database, *chores: Chore) -> AsyncIterator[Worker]:
    """Chores that recur until the block ends."""
    stopping = asyncio.Event()
    tasks = [asyncio.create_task(run_chore(store, chore, stopping)) for chore in chores]
    try:
        yield Worker(tasks)
    finally:
        stopping.set()
        await asyncio.gather(*tasks)


async def test_success_is_written_with_the_work(store: Database) -> None:
    """G31: what a chore did and that it did it are one transaction; the record says how long and how much."""

    async def work(db: AsyncConnection) -> int:
        await db.execute(text("INSERT INTO alarm (code, message) VALUES ('made by the chore', '')"))
        return 7

    turn = await do_chore(store, a_chore(work))
    assert turn.amount == 7
    known = await record(store)
    assert (known.amount, known.failures, known.error) == (7, 0, None)
    assert known.succeeded_at is not None
    assert known.duration_ms is not None
    assert known.duration_ms >= 0


async def test_a_failed_commit_leaves_no_mark_of_success(store: Database) -> None:
    """G31: the mark of a success exists only after the success: work that cannot commit has not been done."""

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
async def test_a_chore_that_raises_is_recorded_and_ends_nobody(store: Database, problem: Exception) -> None:
    """G30, G31: a bug is a failure with its traceback in the log, whatever it looks like; the others go on."""
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
    assert [line for line in logs if line["event"] == "A chore failed" and line["exc_info"]]
    known = await record(store, "broken")
    assert known.error is not None
    assert str(problem) in known.error
    assert known.succeeded_at is None
    async with store.begin() as db:
        assert (await db.execute(text("SELECT count(*) FROM alarm"))).scalar_one() == 0, "its half work was kept"


async def test_a_chore_that_hangs_is_ended_by_its_budget(store: Database) -> None:
    """G30: one that never returns loses its turn, is counted, and is tried again; the others do not wait for it."""
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


async def test_chores_of_a_worker_run_side_by_side(store: Database) -> None:
    """G30: more than one at a time, because each waits here until all the others are inside, too."""
    everybody = asyncio.Barrier(5)

    async def work(_db: AsyncConnection) -> int:
        await everybody.wait()
        return 1

    names = [f"chore {number}" for number in range(5)]
    async with running(store, *(a_chore(work, name, every_seconds=600) for name in names)) as worker:
        await worker.until(lambda: _done(store), 5)


async def test_no_statement_of_a_chore_may_outlast_its_budget(database_url: str) -> None:
    """G30: the server itself ends it, also when this process is gone; the next user has the usual limit."""
    limits: list[str] = []

    async def work(db: AsyncConnection) -> int:
        limits.append((await db.execute(text("SHOW statement_timeout"))).scalar_one())
        return 0

    async with open_database(database_url, PoolOptions(size=1)) as one:
        await do_chore(one, a_chore(work, budget_seconds=7))
        async with one.begin() as db:
            await work(db)
    assert limits == ["7s", "15s"]


async def test_after_a_failure_success_counts_again(store: Database) -> None:
    """`failures` are those in a row."""
    chore = a_chore(nothing)
    async with store.begin() as db:
        await record_failure(db, chore.rhythm, "once", 1)
        await record_failure(db, chore.rhythm, "twice", 1)
    assert (await record(store)).failures == 2
    await do_chore(store, chore)
    assert (await record(store)).failures == 0


async def test_two_processes_never_do_a_chore_at_once(database_url: str) -> None:
    """Design §2: held by a database lock; whoever comes second leaves it, and each turn is one process's."""
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


async def test_a_chore_is_done_once_an_interval_by_all_processes_together(database_url: str) -> None:
    """Ten workers do not do ten times the work: what is not due is left, and it is known when it will be."""
    chore = a_chore(nothing, every_seconds=600)
    async with open_database(database_url) as one, open_database(database_url) as other:
        assert (await do_chore(one, chore)).amount == 0
        again = await do_chore(other, chore)
        assert again.amount is None
        assert 0 < again.again_seconds <= 600
        async with other.begin() as db:
            await db.execute(text("UPDATE chore SET succeeded_at = succeeded_at - interval '10 minutes'"))
        assert (await do_chore(other, chore)).amount == 0
        async with other.begin() as db:
            await db.execute(text("UPDATE chore SET succeeded_at = succeeded_at + interval '1 hour'"))
        assert (await do_chore(other, chore)).amount == 0, "a turn in the future is none"


async def test_an_outage_is_not_a_failure_and_ends_nothing(store: Database) -> None:
    """G30: while the database is away turns are skipped, and the worker goes on."""
    gone_url = store.engine.url.set(database="gone").render_as_string(hide_password=False)
    async with open_database(gone_url) as gone:
        with capture_logs() as logs:
            async with running(gone, a_chore(nothing)) as worker:
                await worker.until(lambda: _value(_skipped(logs)), 3)
    # That the database is away is an error of its own, told once; the chores have none.
    assert {line["event"][:24] for line in logs if line["log_level"] == "error"} <= {"The database is away: re"}


async def test_a_chore_is_known_before_it_has_ever_worked(store: Database) -> None:
    """G31: a chore that never ran is missed, too; one that this release does not have is forgotten."""
    rhythms = [a_chore(nothing, "new").rhythm, a_chore(nothing, "other").rhythm]
    async with store.begin() as db:
        await register_chores(db, [*rhythms, a_chore(nothing, "old").rhythm])
    first = await record(store, "new")
    async with store.begin() as db:
        await register_chores(db, rhythms)
    async with store.begin() as db:
        assert [chore.rhythm.name for chore in await list_chores(db)] == ["new", "other"]
    assert (await record(store, "new")).known_since == first.known_since
    assert first.succeeded_at is None


async def _done(store: Database) -> int:
    async with store.begin() as db:
        return len([chore for chore in await list_chores(db) if chore.amount == 1])


def _skipped(logs: list) -> int:
    return len([line for line in logs if line["event"] == "Chore skipped"])


async def _value(number: int) -> int:
    return number
