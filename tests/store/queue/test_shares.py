"""Fair queueing: callers take turns, however much each has submitted and when."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from sqlalchemy import text

from assay.model.job import ENTRYPOINT, Job, decode_job
from assay.store.database.database import Database, open_database
from assay.store.queue.jobs import QueueEnd, enqueue, reorder_jobs
from assay.store.queue.pgqueuer import queries_on
from assay.store.queue.shares import MANY_RETRIED, forget_old_shares, read_virtual_time, take_turns

RETRY = text(
    """
    UPDATE pgqueuer SET status = 'queued', attempts = attempts + 1, execute_after = now() + make_interval(secs => :after)
    WHERE dedupe_key = ANY(:keys)
    """
)
FINISH = text("DELETE FROM pgqueuer WHERE dedupe_key = ANY(:keys)")
DUE = text("UPDATE pgqueuer SET execute_after = now() - interval '1 second'")
AGE = text("UPDATE queue_share SET updated_at = now() - interval '2 days'")


@dataclass
class Line:
    """A queue, and who has what in it."""

    store: Database
    connection: asyncpg.Connection
    callers: dict[UUID, str] = field(default_factory=dict)

    async def put(self, caller: str, number: int = 1, priority: int = 0) -> list[Job]:
        jobs = [Job(uuid4(), 1) for _ in range(number)]
        self.callers |= dict.fromkeys((job.subject_id for job in jobs), caller)
        async with self.store.begin() as db:
            await db.execute(text("SELECT 1"))
            await enqueue(db, jobs, [priority] * number, share=caller)
        return jobs

    async def claim(self, number: int) -> list[Job]:
        """Claim jobs as a worker does, one after the other."""
        queries, jobs = queries_on(AsyncpgDriver(self.connection)), []
        wanted = {ENTRYPOINT: EntrypointExecutionParameter(concurrency_limit=0)}
        for _ in range(number):
            jobs += await queries.dequeue(1, wanted, uuid4(), None, timedelta(hours=1))  # type: ignore[arg-type]
        return [decode_job(job.payload) for job in jobs if job.payload]

    async def work(self, number: int) -> list[str]:
        """Claim and finish jobs; return whose they were, in order."""
        jobs = await self.claim(number)
        await self.run(FINISH, keys=[job.key for job in jobs])
        return [self.callers[job.subject_id] for job in jobs]

    async def run(self, statement: object, **params: object) -> None:
        async with self.store.begin() as db:
            await db.execute(statement, params)  # type: ignore[call-overload]


@pytest.fixture
async def line(database_url: str) -> AsyncIterator[Line]:
    connection = await asyncpg.connect(database_url)
    async with open_database(database_url) as store:
        yield Line(store, connection)
    await connection.close()


async def test_idle_queue_is_first_come_first_served(line: Line) -> None:
    callers = [f"caller {number}" for number in range(20)]
    for caller in callers:
        await line.put(caller)
    assert await line.work(20) == callers


async def test_one_submission_does_not_wait_for_a_flood(line: Line) -> None:
    await line.put("flood", 2_000)
    await line.put("author")
    assert (await line.work(2)).count("author") == 1
    assert set(await line.work(50)) == {"flood"}
    await line.put("author")
    assert "author" in await line.work(2)


async def test_busy_callers_get_equal_shares(line: Line) -> None:
    """G109: whenever they arrive and however much they have; time before does not count."""
    await line.put("first", 1_000)
    await line.work(100)
    await line.put("second", 300)
    served = Counter(await line.work(100))
    assert abs(served["first"] - served["second"]) <= 2
    await line.put("third", 300)
    served = Counter(await line.work(150))
    assert all(abs(served[each] - 50) <= 2 for each in ("first", "second", "third")), served


async def test_trickle_and_backlog_get_equal_shares(line: Line) -> None:
    """A caller that submits one after the other neither starves one with a backlog nor is starved by it."""
    await line.put("backlog", 500)
    await line.put("trickle")
    served = Counter[str]()
    for _ in range(200):
        [caller] = await line.work(1)
        served[caller] += 1
        if caller == "trickle":
            await line.put("trickle")
    assert abs(served["trickle"] - served["backlog"]) <= 2


async def test_work_on_an_idle_queue_is_not_held_against_a_caller(line: Line) -> None:
    """Also if a few jobs wait for a retry, which does not make the queue busy."""
    retried = await line.put("author", 300)
    await line.run(RETRY, keys=[job.key for job in retried[:3]], after=3600)
    await line.work(297)
    await line.put("newcomer", 100)
    await line.put("author", 100)
    served = Counter(await line.work(100))
    assert abs(served["author"] - served["newcomer"]) <= 2


async def test_few_retries_do_not_let_newcomers_pass(line: Line) -> None:
    """A retry keeps its old turn; newcomers start where the queue is."""
    jobs = await line.put("backlog", 600)
    early = await line.claim(300)
    assert early == jobs[:300]
    await line.run(FINISH, keys=[job.key for job in early[3:]])
    await line.run(RETRY, keys=[job.key for job in early[:3]], after=3600)
    await line.put("newcomer", 200)
    served = Counter(await line.work(100))
    assert abs(served["backlog"] - served["newcomer"]) <= 2
    await line.run(DUE)
    assert await line.work(3) == ["backlog"] * 3


async def test_rate_limit_of_github_does_not_put_newcomers_last(line: Line) -> None:
    """All jobs of a flood were claimed and delayed; a newcomer does not wait for all of them again."""
    flood = await line.put("flood", 3 * MANY_RETRIED)
    await line.claim(len(flood))
    await line.run(RETRY, keys=[job.key for job in flood], after=0)
    await line.put("newcomer")
    await line.run(DUE)
    assert "newcomer" in await line.work(2)


async def test_virtual_time_never_goes_back(line: Line) -> None:
    """Many old jobs that are retried do not let a newcomer pass one that came before them."""
    await line.put("backlog", 600)
    early = await line.claim(300)
    retried, done = early[:150], early[150:]
    await line.run(FINISH, keys=[job.key for job in done])
    await line.put("first", 100)
    await line.run(RETRY, keys=[job.key for job in retried], after=3600)
    await line.put("second", 100)
    served = Counter(await line.work(90))
    assert all(abs(served[each] - 30) <= 2 for each in ("backlog", "first", "second")), served


async def test_jobs_behind_new_ones_do_not_hold_the_time_back(line: Line) -> None:
    """They wait with an old turn, and a newcomer starts where the queue is."""
    await line.put("maintenance", 3, priority=-10)
    await line.put("backlog", 300)
    await line.work(150)
    await line.put("newcomer", 100)
    served = Counter(await line.work(100))
    assert abs(served["backlog"] - served["newcomer"]) <= 2


async def test_virtual_time_ignores_jobs_moved_to_the_front(line: Line) -> None:
    flood = await line.put("flood", 500)
    async with line.store.begin() as db:
        await reorder_jobs(db, flood[-1:], QueueEnd.FRONT)
    assert await line.claim(1) == flood[-1:]
    await line.put("author")
    assert "author" in await line.work(2)


async def test_jobs_moved_to_the_back_stay_behind_all_callers(line: Line) -> None:
    [moved, _] = await line.put("first", 2)
    async with line.store.begin() as db:
        await reorder_jobs(db, [moved], QueueEnd.BACK)
    await line.put("second", 3)
    assert sorted(await line.work(4)) == ["first", "second", "second", "second"]
    assert await line.claim(1) == [moved]


async def test_concurrent_submissions_of_one_caller_share_its_turns(line: Line) -> None:
    """In parallel, a caller gets no more turns than one after the other, and others do not wait for it."""
    await line.put("other", 200)
    await asyncio.gather(*(line.put("parallel", 5) for _ in range(20)))
    served = Counter(await line.work(100))
    assert abs(served["parallel"] - served["other"]) <= 2


async def test_callers_do_not_wait_for_the_transactions_of_others(line: Line) -> None:
    async with line.store.begin() as db:
        await take_turns(db, "slow", 1)
        async with asyncio.timeout(10):
            await line.put("other")


async def test_shares_are_forgotten_when_their_turns_have_passed(line: Line) -> None:
    """A share with a backlog is kept: its caller must not start again at the front. The time never goes back."""
    await line.put("backlog", 100)
    for number in range(5):
        await line.put(f"past {number}")
    await line.work(20)
    await line.put("present")
    async with line.store.begin() as db:
        assert await forget_old_shares(db, 10) == 0
    await line.run(AGE)
    async with line.store.begin() as db:
        before = await read_virtual_time(db)
        assert await forget_old_shares(db, 10) == 5
        assert await forget_old_shares(db, 10) == 0
        assert await read_virtual_time(db) == before
        assert await take_turns(db, "backlog", 1) == 100
