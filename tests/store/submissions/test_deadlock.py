"""Deadlocks: one transaction continues, the other is told to retry."""

import asyncio

import pytest
from sqlalchemy import text

from assay.model.errors import Unavailable
from assay.store.database.database import DATABASE_BUSY, Database
from assay.store.skills.locks import lock_skill
from assay.store.submissions.selection import lock_by_ids
from tests.support.catalogue import gone, publish
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.review_cases import decide, waiting

pytestmark = pytest.mark.process

LOCK = text("SELECT pg_advisory_xact_lock(4711, :number)")

WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
TOUCH = text("UPDATE submission SET updated_at = now() WHERE id = :id")


async def test_deadlock_victim_gets_a_retryable_error(registry: Registry) -> None:
    store = registry.app.store
    first_holds, second_holds = asyncio.Event(), asyncio.Event()

    async def change(mine: int, other: int, held: asyncio.Event, awaited: asyncio.Event) -> str:
        try:
            async with store.begin() as db:
                await db.execute(LOCK, {"number": mine})
                held.set()
                await awaited.wait()
                await db.execute(LOCK, {"number": other})
        except Unavailable as problem:
            assert problem.retry_after_seconds == 1
            return problem.code
        return "done"

    ended = await asyncio.gather(change(1, 2, first_holds, second_holds), change(2, 1, second_holds, first_holds))
    assert sorted(ended) == [DATABASE_BUSY, "done"]
    assert await still_answers(store)


async def still_answers(store: Database) -> bool:
    async with store.begin() as db:
        return bool(await db.scalar(text("SELECT true")))


async def test_second_update_of_a_submission_does_not_wait_for_its_listing(
    registry: Registry,
) -> None:
    """G5: the foreign key check must not block on the owner's lock."""
    name = await publish(registry, "acme/tools", "Says hello.")
    store = registry.app.store
    owner_holds = asyncio.Event()
    async with store.begin() as db:
        submission_id = (await db.execute(text("SELECT id FROM submission"))).scalar_one()

    async def own() -> None:
        async with store.begin() as db:
            await lock_skill(db, name)
            owner_holds.set()
            assert await lock_by_ids(db, [submission_id])

    async with store.begin() as db:
        await db.execute(text("SET LOCAL lock_timeout = '5s'"))
        await db.execute(TOUCH, {"id": submission_id})
        owning = asyncio.create_task(own())
        await owner_holds.wait()
        await db.execute(TOUCH, {"id": submission_id})
    await owning


async def test_worker_locks_the_listing_before_the_submission(
    registry: Registry,
) -> None:
    """G5: also when the source is gone."""
    name = await publish(registry, "acme/tools", "Says hello.")
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    repository.push({"SKILL.md": None, "README.md": "Nothing here any more."})
    await registry.submit("acme/tools", "greet")
    async with registry.app.store.begin() as db:
        await lock_skill(db, name)
        working = asyncio.create_task(registry.work())
        await until(lambda: somebody_waits(registry.app.store))
        await db.execute(text("SELECT FROM submission FOR UPDATE NOWAIT"))
    await working
    await gone(registry, name)


@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_reviewer_locks_the_listing_before_the_submission(registry: Registry, verb: str) -> None:
    """G5."""
    name = await publish(registry, "acme/tools", "Says hello.")
    number = await waiting(registry, name="greet")
    async with registry.app.store.begin() as db:
        await lock_skill(db, name)
        deciding = asyncio.create_task(decide(registry, number, verb))
        await until(lambda: somebody_waits(registry.app.store))
        await db.execute(text("SELECT FROM submission FOR UPDATE NOWAIT"))
    assert (await deciding).status_code == 200


async def somebody_waits(store: Database) -> bool:
    async with store.begin() as db:
        return bool(await db.scalar(WAITING))
