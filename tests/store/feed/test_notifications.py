"""Notices: commits and serials announce themselves, and a connection that is lost comes back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import asyncpg
import pytest

from assay.store.database.database import Database
from assay.store.feed.changes import Numbering, number_changes, number_settled
from assay.store.feed.notifications import APPLICATION, CHANGE, SERIAL, hear_notices
from tests.store.feed.test_changes import note
from tests.support.processes import until
from tests.support.registry import Registry


@dataclass
class Heard:
    """What somebody has heard so far."""

    notices: list[tuple[str, str]] = field(default_factory=list)
    connections: int = 0

    def connected(self) -> None:
        self.connections += 1

    def add(self, channel: str, payload: str) -> None:
        self.notices.append((channel, payload))

    async def have(self, *notices: tuple[str, str]) -> bool:
        return set(notices) <= set(self.notices)

    async def is_connected(self, times: int) -> bool:
        return self.connections >= times


@pytest.fixture
async def heard(registry: Registry) -> AsyncIterator[Heard]:
    """Somebody who listens to the database of this test."""
    notes = Heard()
    hearing = asyncio.create_task(hear_notices(registry.app.database_url, notes.connected, notes.add))
    await until(lambda: notes.is_connected(1))
    yield notes
    hearing.cancel()
    await asyncio.wait({hearing})


async def write(store: Database, *names: str) -> None:
    """A transaction with some changes."""
    async with store.begin() as db:
        for name in names:
            await note(db, name)


async def number_all(store: Database) -> None:
    """Hand out serials until nothing waits for one."""

    async def is_done() -> bool:
        async with store.begin() as db:
            return not (await number_settled(db)).is_waiting

    await until(is_done)


async def test_a_commit_and_its_serials_are_announced(registry: Registry, heard: Heard) -> None:
    """G73: at the commit, and again with the highest serial when there is one; whoever numbers tells everybody."""
    store = registry.app.store
    await write(store, "one", "two", "three")
    await until(lambda: heard.have((CHANGE, "")))
    await number_all(store)
    await until(lambda: heard.have((SERIAL, "3")))
    async with store.begin() as db:
        assert await number_changes(db) == 0
    await write(store, "four")
    await number_all(store)
    await until(lambda: heard.have((SERIAL, "4")))
    assert [payload for channel, payload in heard.notices if channel == SERIAL][-1] == "4"
    assert all(int(payload) <= 4 for channel, payload in heard.notices if channel == SERIAL)


async def test_what_is_rolled_back_is_not_announced(registry: Registry, heard: Heard) -> None:
    """Nobody is woken for nothing."""
    async with registry.app.store.engine.connect() as db:
        await note(db, "never")
        await db.rollback()
    await write(registry.app.store, "after")
    await until(lambda: heard.have((CHANGE, "")))
    assert heard.notices == [(CHANGE, "")]


async def test_numbering_says_whether_something_still_waits(registry: Registry) -> None:
    """Held back by a transaction that is open, or by somebody else who is numbering at this moment."""
    store = registry.app.store
    async with store.begin() as slow:
        await note(slow, "slow")
        await write(store, "quick")
        async with store.begin() as db:
            assert (await number_settled(db)) == Numbering(0, is_waiting=True)
    await number_all(store)
    async with store.begin() as db, store.begin() as other:
        assert (await number_settled(db)) == Numbering(0, is_waiting=False)
        assert (await number_settled(other)) == Numbering(0, is_waiting=True), "the other one may have looked too early"


async def test_a_lost_connection_comes_back_and_says_so(registry: Registry, heard: Heard) -> None:
    """G73: whoever listens learns that it may have missed something, and hears what is said afterwards."""
    admin = await asyncpg.connect(registry.app.database_url)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
        APPLICATION,
    )
    await until(lambda: heard.is_connected(2))
    await write(registry.app.store, "after")
    await until(lambda: heard.have((CHANGE, "")))
    await admin.close()
