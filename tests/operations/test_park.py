"""Parking and requeueing in every state, also in flight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlalchemy import text

from assay.app.worker import pause_gate, worker_options
from assay.model.ids import new_id
from assay.model.job import Job
from assay.model.submission import TRANSITIONS, State
from assay.operations.park import park
from assay.operations.pause import pause_queue, resume_queue
from assay.operations.reorder import reorder
from assay.operations.requeue import REQUEUEABLE, reprocess, requeue
from assay.pipeline import process
from assay.queue.outcome import Outcome
from assay.queue.worker import run_worker
from assay.store.queue.jobs import QueueEnd
from assay.store.submissions.selection import Selection, database_now
from assay.store.submissions.submissions import get_submission
from assay.submit.admission import Admitted
from assay.submit.bulk import admit_batch
from tests.support.processes import check_invariants, until
from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.submissions import a_request


async def submitted(registry: Registry, *names: str, repository: str = "acme/tools") -> list:
    """Return ids of new submissions."""
    async with registry.app.store.begin() as db:
        batch = await admit_batch(db, [a_request(name, repository) for name in names])
    return [each.submission.id for each in batch.results if isinstance(each, Admitted)]


async def state_of(registry: Registry, submission_id: object) -> State:
    """Return the state of a submission."""
    async with registry.app.store.begin() as db:
        return (await get_submission(db, submission_id)).state


async def jobs(registry: Registry) -> list[str]:
    """Return the skills of waiting jobs in claim order."""
    statement = """
        SELECT skill_name FROM pgqueuer JOIN submission ON dedupe_key = submission.id || ':' || cycle
        WHERE status = 'queued' ORDER BY pgqueuer.priority DESC, pgqueuer.id
    """
    async with registry.app.store.begin() as db:
        return list((await db.execute(text(statement))).scalars())


async def audit(registry: Registry) -> list[tuple[str, str]]:
    """Return the audit events."""
    async with registry.app.store.begin() as db:
        return (await db.execute(text("SELECT actor, action FROM audit_event ORDER BY id"))).all()


@asynccontextmanager
async def a_running_worker(registry: Registry) -> AsyncIterator[list[Job]]:
    """Run a worker for the block and collect interrupted jobs."""
    stopping = asyncio.Event()
    interrupted: list[Job] = []

    async def handle(job: Job) -> Outcome:
        try:
            return await process(job, registry.tools)
        except asyncio.CancelledError:
            interrupted.append(job)
            raise

    options = replace(worker_options(registry.app.settings), idle_seconds=0.1, pause_check_seconds=0.02)
    task = asyncio.create_task(
        run_worker(
            registry.app.database_url,
            handle,
            options,
            stopping,
            pause_gate(registry.app),
        )
    )
    try:
        yield interrupted
    finally:
        stopping.set()
        await task


@pytest.mark.parametrize("to", [State.DEQUEUED, State.ON_HOLD])
async def test_dequeuing_removes_the_job(registry: Registry, to) -> None:
    """G13, G28: the reason is recorded."""
    first, _ = await submitted(registry, "pdf", "csv")
    nobody = new_id()
    async with registry.app.store.begin() as db:
        done = await park(db, [first, nobody], to, reason="under discussion", by="alice")
    assert ([each.id for each in done.changed], done.missing, done.cancelled) == ([first], [nobody], 0)
    assert await jobs(registry) == ["csv"]
    detail = await registry.read(str(first))
    assert (detail["state"], detail["reason"]["message"]) == (to, "under discussion")
    assert detail["stateHistory"][-1]["actor"] == "alice"
    assert await audit(registry) == [("alice", f"submission_{detail['reason']['code']}")]
    await check_invariants(registry.app.store)


async def test_submission_in_flight_is_cancelled(registry: Registry) -> None:
    """G5, G28: the worker stops writing and continues with other work."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.latency("commit", 30)
    [submission_id] = await submitted(registry, "pdf")
    async with a_running_worker(registry) as interrupted:
        await until(lambda: _is_claimed(registry, submission_id))
        async with registry.app.store.begin() as db:
            done = await park(db, [submission_id], State.DEQUEUED, reason="wrong one", by="alice")
        assert done.cancelled == 1

        async def is_interrupted() -> bool:
            return [job.subject_id for job in interrupted] == [submission_id]

        await until(is_interrupted, 25)
        [other] = await submitted(registry, "missing", repository="acme/other")
        await until(lambda: _is(registry, other, State.REJECTED))
    assert await state_of(registry, submission_id) is State.DEQUEUED
    assert await jobs(registry) == []
    await check_invariants(registry.app.store)


@pytest.mark.process
async def test_cancelled_submission_can_be_requeued(registry: Registry) -> None:
    """G28: as a new cycle with fresh budgets."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    [submission_id] = await submitted(registry, "pdf")
    async with registry.app.store.begin() as db:
        await park(db, [submission_id], State.ON_HOLD, reason="wait", by="alice")
    async with registry.app.store.begin() as db:
        done = await requeue(db, [submission_id], by="bob", reason="go on")
    assert (done.changed[0].cycle, done.changed[0].reason) == (2, None)
    await registry.work()
    assert await state_of(registry, submission_id) is State.PUBLISHED
    assert [actor for actor, _ in await audit(registry)] == ["alice", "bob"]
    await check_invariants(registry.app.store)


def test_requeue_follows_allowed_transitions() -> None:
    """G28: never while a worker holds it."""
    assert all(State.RECEIVED in TRANSITIONS[state] for state in REQUEUEABLE)
    assert REQUEUEABLE.isdisjoint({State.RECEIVED, State.TIER1_SCANNING, State.TIER2_SCANNING, State.BLOCKED})


async def test_active_submission_is_not_requeued(registry: Registry) -> None:
    """G28: a second job would scan it twice."""
    [submission_id] = await submitted(registry, "pdf")
    async with registry.app.store.begin() as db:
        done = await requeue(db, [submission_id], by="bob", reason="hurry")
    assert ([each.id for each in done.skipped], done.changed) == ([submission_id], [])
    assert await jobs(registry) == ["pdf"]
    assert await audit(registry) == []


async def test_moving_keeps_the_relative_order(registry: Registry) -> None:
    ids = dict(zip("abcdef", await submitted(registry, *(f"skill-{letter}" for letter in "abcdef")), strict=True))
    async with registry.app.store.begin() as db:
        await reorder(db, [ids["d"], ids["c"]], QueueEnd.FRONT, by="alice")
        await reorder(db, [ids["a"]], QueueEnd.BACK, by="alice")
        await reorder(db, [ids["f"]], QueueEnd.FRONT, by="alice")
    assert await jobs(registry) == [f"skill-{letter}" for letter in "fcdbea"]


async def test_failed_submissions_are_reprocessed_in_bulk(registry: Registry) -> None:
    """G7: a dry run counts; batches continue until none is left; new submissions go first."""
    ids = await submitted(registry, *(f"skill-{number}" for number in range(7)))
    await registry.work()
    [fresh] = await submitted(registry, "fresh")
    async with registry.app.store.begin() as db:
        selection = Selection(frozenset({State.REJECTED}), before=await database_now(db))
        dry = await reprocess(db, selection, limit=3, dry_run=True, by="alice", reason="fixed")
    assert (dry.matched, dry.requeued, dry.remaining) == ({State.REJECTED: 7}, 0, 7)
    left = []
    for _ in range(3):
        async with registry.app.store.begin() as db:
            done = await reprocess(db, selection, limit=3, dry_run=False, by="alice", reason="fixed")
        left.append((done.requeued, done.remaining))
    assert left == [(3, 4), (3, 1), (1, 0)]
    assert (await jobs(registry))[0] == "fresh"
    assert {await state_of(registry, each) for each in [*ids, fresh]} == {State.RECEIVED}
    await check_invariants(registry.app.store)


async def test_bulk_reprocessing_terminates(registry: Registry) -> None:
    """G7: the cutoff time is fixed, so nothing matches twice."""
    await submitted(registry, "one", "two")
    await registry.work()
    async with registry.app.store.begin() as db:
        selection = Selection(frozenset({State.REJECTED}), before=await database_now(db))
        await reprocess(db, selection, limit=10, dry_run=False, by="alice", reason="again")
    await registry.work()
    async with registry.app.store.begin() as db:
        done = await reprocess(db, selection, limit=10, dry_run=False, by="alice", reason="again")
    assert (done.requeued, done.remaining) == (0, 0)


@pytest.mark.process
async def test_paused_queue_claims_nothing_and_resumes_by_itself(registry: Registry) -> None:
    """G27."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    async with registry.app.store.begin() as db:
        await pause_queue(db, reason="maintenance", seconds=3600, by="alice")
    async with a_running_worker(registry):
        [first] = await submitted(registry, "pdf")
        await asyncio.gather(*(registry.client.get("/healthz") for _ in range(50)))
        assert await state_of(registry, first) is State.RECEIVED
        async with registry.app.store.begin() as db:
            ended = await resume_queue(db, by="bob")
        assert ended is not None
        await until(lambda: _is(registry, first, State.PUBLISHED))
        async with registry.app.store.begin() as db:
            await pause_queue(db, reason="maintenance", seconds=3600, by="alice")
            await pause_queue(db, reason="short", seconds=1, by="bob")
        [second] = await submitted(registry, "csv")
        # The second pause expires by itself.
        await until(lambda: _is(registry, second, State.PUBLISHED))
    assert await audit(registry) == [
        ("alice", "queue_paused"),
        ("bob", "queue_resumed"),
        ("alice", "queue_paused"),
        ("bob", "queue_paused"),
    ]


async def test_jobs_claimed_during_a_pause_return_to_their_position(registry: Registry) -> None:
    ids = await submitted(registry, "a", "b", "c")
    taken: list[Job] = []
    everything_is_taken, everything_is_set = asyncio.Event(), asyncio.Event()

    async def handle(job: Job) -> Outcome:
        taken.append(job)
        if len(taken) == len(ids):
            everything_is_taken.set()
        await everything_is_set.wait()
        return await process(job, registry.tools)

    asked: list[bool] = []

    async def is_paused() -> bool:
        asked.append(await pause_gate(registry.app)())
        return asked[-1]

    stopping = asyncio.Event()
    # Its next check for a pause is an hour away.
    options = replace(worker_options(registry.app.settings), pause_check_seconds=3_600)
    worker = asyncio.create_task(run_worker(registry.app.database_url, handle, options, stopping, is_paused))
    await everything_is_taken.wait()
    async with registry.app.store.begin() as db:
        await pause_queue(db, reason="maintenance", seconds=3600, by="alice")
        handled = await reorder(db, [ids[2]], QueueEnd.FRONT, by="alice")
    assert [each.id for each in handled.changed] == [ids[2]]
    everything_is_set.set()

    async def has_stopped() -> bool:
        return True in asked and len(await jobs(registry)) == len(ids)

    await until(has_stopped, 30)
    assert await jobs(registry) == ["c", "a", "b"]
    async with registry.app.store.begin() as db:
        later = await db.execute(text("SELECT count(*) FROM pgqueuer WHERE execute_after >= now()"))
        assert later.scalar_one() == 0
    stopping.set()
    await worker
    assert sorted(job.subject_id for job in taken) == sorted(ids)


async def test_concurrent_pauses_leave_one_open(registry: Registry) -> None:
    """G27."""

    async def pause(number: int) -> None:
        async with registry.app.store.begin() as db:
            await pause_queue(db, reason=f"number {number}", seconds=60, by="alice")

    await asyncio.gather(*map(pause, range(8)))
    async with registry.app.store.begin() as db:
        opened = (await db.execute(text("SELECT count(*) FROM queue_pause WHERE resumed_at IS NULL"))).scalar_one()
    assert opened == 1


async def _is(registry: Registry, submission_id: object, state: State) -> bool:
    return await state_of(registry, submission_id) is state


async def _is_claimed(registry: Registry, submission_id: object) -> bool:
    async with registry.app.store.begin() as db:
        return (await get_submission(db, submission_id)).lease is not None
