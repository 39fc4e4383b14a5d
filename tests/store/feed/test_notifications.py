"""Notifications for commits and serials, and reconnection."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import asyncpg
import pytest

from assay.store.database.database import Database
from assay.store.feed.changes import Numbering, number_changes, number_settled
from assay.store.feed.notifications import APPLICATION, CHANGE, SERIAL, listen_for_notifications
from tests.support.changes import note
from tests.support.processes import until
from tests.support.registry import Registry


@dataclass
class Heard:
    """The notifications received so far."""

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
    """Listen to the database of this test."""
    notes = Heard()
    hearing = asyncio.create_task(listen_for_notifications(registry.app.database_url, notes.connected, notes.add))
    await until(lambda: notes.is_connected(1))
    yield notes
    hearing.cancel()
    await asyncio.wait({hearing})


async def write(store: Database, *names: str) -> None:
    """Commit some changes."""
    async with store.begin() as db:
        for name in names:
            await note(db, name)


async def number_all(store: Database) -> None:
    """Assign serials until none is pending."""

    async def is_done() -> bool:
        async with store.begin() as db:
            return not (await number_settled(db)).is_waiting

    await until(is_done)


async def test_commit_and_serials_are_announced(registry: Registry, heard: Heard) -> None:
    """G73."""
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


async def test_rolled_back_change_is_not_announced(registry: Registry, heard: Heard) -> None:
    async with registry.app.store.engine.connect() as db:
        await note(db, "never")
        await db.rollback()
    await write(registry.app.store, "after")
    await until(lambda: heard.have((CHANGE, "")))
    assert heard.notices == [(CHANGE, "")]


async def test_numbering_reports_pending_changes(registry: Registry) -> None:
    """Held back by an open transaction or a concurrent numbering."""
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


async def test_lost_connection_is_reported_after_reconnecting(registry: Registry, heard: Heard) -> None:
    """G73."""
    admin = await asyncpg.connect(registry.app.database_url)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
        APPLICATION,
    )
    await until(lambda: heard.is_connected(2))
    await write(registry.app.store, "after")
    await until(lambda: heard.have((CHANGE, "")))
    await admin.close()
