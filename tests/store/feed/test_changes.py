"""The change feed never skips a change that commits late."""

import asyncio
from uuid import uuid4

from sqlalchemy import text

from assay.store.database.database import Database
from assay.store.feed.changes import number_changes, read_changes
from tests.support.changes import note
from tests.support.processes import until
from tests.support.registry import Registry


async def feed(store: Database, since: int = 0) -> list[tuple[int, object]]:
    """Return the visible feed."""
    async with store.begin() as db:
        await number_changes(db)
    async with store.begin() as db:
        return [(change.serial, change.data["name"]) for change in await read_changes(db, since, 1000)]


async def test_reader_stops_at_the_oldest_open_transaction(registry: Registry) -> None:
    store = registry.app.store
    async with store.begin() as early:
        await note(early, "committed")
    async with store.begin() as slow:
        await note(slow, "slow")
        async with store.begin() as quick:
            await note(quick, "quick")
        # Transactions in other databases of this server may delay the first one.
        await until(lambda: feed(store))
        assert await feed(store) == [(1, "committed")], "what is newer than an open transaction must wait"
    await until(lambda: feed(store, since=2))
    assert await feed(store, since=1) == [(2, "slow"), (3, "quick")]


async def test_serials_follow_lock_order(registry: Registry) -> None:
    """The transaction that waited for a lock comes after the one that held it, even if another transaction holds
    back only one of them.
    """
    store = registry.app.store
    async with store.begin() as other:
        async with store.begin() as older:
            await older.execute(text("SELECT pg_current_xact_id()"))
            await other.execute(text("SELECT pg_current_xact_id()"))
            async with store.begin() as younger:
                await note(younger, "renamed")
            await note(older, "taken down by its new name")
        assert await feed(store) == []
    await until(lambda: feed(store))
    assert await feed(store) == [(1, "renamed"), (2, "taken down by its new name")]


async def test_serials_are_gapless_with_many_writers_and_readers(registry: Registry) -> None:
    store = registry.app.store
    names = {str(uuid4()) for _ in range(120)}

    async def write(name: str) -> None:
        async with store.begin() as db:
            await note(db, name)

    async def follow() -> list[tuple[int, object]]:
        seen: list[tuple[int, object]] = []
        while len(seen) < len(names):
            seen += await feed(store, since=seen[-1][0] if seen else 0)
        return seen

    readers = [asyncio.create_task(follow()) for _ in range(3)]
    await asyncio.gather(*map(write, names))
    first, *others = await asyncio.gather(*readers)
    assert [serial for serial, _ in first] == list(range(1, len(names) + 1))
    assert {name for _, name in first} == names
    assert all(other == first for other in others)


async def test_rolled_back_change_never_appears(registry: Registry) -> None:
    store = registry.app.store
    async with store.engine.connect() as db:
        await note(db, "never")
        await db.rollback()
    async with store.begin() as db:
        await note(db, "after")
    await until(lambda: feed(store))
    assert await feed(store) == [(1, "after")]
