"""The projector applies every change to the edge copy."""

import asyncio
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from assay.edge.keys import STATE, alias_key, skill_key
from assay.edge.kv import Edge
from assay.edge.state import read_state
from assay.edge.values import StateValue, encode
from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.errors import Conflict, Unavailable
from assay.model.finding import Severity
from assay.model.ids import new_id
from assay.model.skill import ListingStatus
from assay.moderation.blocklist import block, unblock
from assay.moderation.withdraw import restore, unlist
from assay.settings import Settings
from assay.store.feed.edge_rows import read_lag
from assay.store.skills.locks import lock_skill
from assay.store.skills.names import add_alias, rename_listing
from tests.support.edge_copies import (
    NAMES,
    WHY,
    Dying,
    Killed,
    bring_level,
    expected,
    meaning_of,
    projector_of,
    publish,
    take_down,
)
from tests.support.edge_stores import contents_of, keys_of
from tests.support.processes import a_worker, until
from tests.support.registry import Registry
from tests.support.skills import a_repository

pytestmark = pytest.mark.process

ROUNDS = 30


async def call(registry: Registry, name: str, new: str) -> None:
    """Rename a listing."""
    async with registry.app.store.begin() as db:
        await rename_listing(db, await lock_skill(db, name), new)


def an_entry(target: BlocklistTarget) -> BlocklistEntry:
    """Return a blocklist entry."""
    now = datetime(2026, 7, 1, tzinfo=UTC)
    return BlocklistEntry(new_id(), target, Threat.MALWARE, Severity.CRITICAL, "It is bad.", (), now, "somebody", None)


async def test_every_kind_of_change_is_projected(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """G68: the copy matches the tables after each."""

    async def check(*listed: str) -> None:
        await bring_level(registry, edge)
        assert await keys_of(edge, "skill:") == sorted(skill_key(f"acme/tools/{name}") for name in listed)
        assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")

    await publish(registry, "pdf", "csv", "greet")
    await check("pdf", "csv", "greet")
    sent = await registry.submit("acme/tools", "draw", "skills/draw/SKILL.md")
    await check("pdf", "csv", "greet")
    assert await keys_of(edge, "sub:") == [f"sub:{sent['id']}"]
    await registry.work()
    await check("pdf", "csv", "greet", "draw")
    assert await keys_of(edge, "sub:") == []
    await take_down(registry, "acme/tools/csv")
    await check("pdf", "greet", "draw")
    await call(registry, "acme/tools/greet", "acme/tools/hello")
    await check("pdf", "hello", "draw")
    assert await keys_of(edge, "alias:") == [alias_key("acme/tools/greet")]
    entry = an_entry(BlocklistTarget(repository="acme/tools", skill_name="draw"))
    async with registry.app.store.begin() as db:
        await block(db, entry)
    await check("pdf", "hello")
    assert await keys_of(edge, "block:") == [f"block:{entry.id}"]
    assert [each.id for each in await registry_copy(registry, edge)] == [entry.id]
    async with registry.app.store.begin() as db:
        await unblock(db, entry.id, reason="It was not.", by="somebody")
        await restore(db, "acme/tools/csv", of=ListingStatus.UNLISTED, by="somebody")
    await check("pdf", "csv", "hello", "draw")
    assert await keys_of(edge, "block:") == []


async def registry_copy(registry: Registry, edge: Edge) -> list[BlocklistEntry]:
    """Return the blocklist from the edge copy."""
    copy = type(registry.app.copy)(edge, registry.app.clock.now)
    return await copy.blocklist()


async def test_reused_name_belongs_to_the_new_listing(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """in any page split."""
    await publish(registry, "pdf", "csv")
    await bring_level(registry, edge)
    await call(registry, "acme/tools/pdf", "acme/tools/old-pdf")
    await call(registry, "acme/tools/csv", "acme/tools/pdf")
    await bring_level(registry, edge)
    assert await keys_of(edge, "skill:") == [skill_key("acme/tools/old-pdf"), skill_key("acme/tools/pdf")]
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_projector_killed_at_any_write_converges(
    registry: Registry, edge: Edge, tmp_path: Path, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G68: initial copy, pages and rebuild."""
    monkeypatch.setattr("assay.edge_sync.projector.PAGE", 3)
    await publish(registry, *NAMES)
    kills = 0
    for number in range(1, ROUNDS):
        chosen = random.Random(number)
        name = f"acme/tools/{chosen.choice(NAMES)}"
        async with registry.app.store.begin() as db:
            standing = (await lock_skill(db, name)).standing
            if standing is ListingStatus.LIVE:
                await unlist(db, name, WHY)
            else:
                await restore(db, name, of=ListingStatus.UNLISTED, by="somebody")
        if number % 13 == 0:
            await edge.clear()
        dying = Dying(edge, chosen.randint(1, 9), after=after)
        try:
            await projector_of(registry, dying).catch_up()
        except Killed:
            kills += 1
        if number % 5 == 0:
            await bring_level(registry, edge)
            assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")
    assert kills > 3
    await bring_level(registry, edge)
    before = await contents_of(edge)
    await bring_level(registry, edge)
    before.pop(STATE)
    again = await contents_of(edge)
    again.pop(STATE)
    assert again == before, "nothing is left to do, and doing it again changes nothing"


async def test_concurrent_projectors(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """G68: the loser of the lock leaves; a frozen winner is rejected by the store."""
    await publish(registry, *NAMES)
    projectors = [projector_of(registry, edge) for _ in range(4)]
    await bring_level(registry, edge)
    frozen = Frozen(edge)
    await take_down(registry, "acme/tools/pdf")
    late = asyncio.create_task(bring_level(registry, frozen))
    await frozen.reached.wait()
    async with registry.app.store.begin() as db:  # simulates a lost connection of a frozen process
        kill = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        await db.execute(text(kill))
    async with registry.app.store.begin() as db:
        await restore(db, "acme/tools/pdf", of=ListingStatus.UNLISTED, by="somebody")
    await asyncio.gather(*(each.catch_up() for each in projectors))
    await bring_level(registry, edge)
    await until(lambda: is_there(edge, "acme/tools/pdf"))
    frozen.go_on.set()
    with pytest.raises(Unavailable):
        await late
    assert await is_there(edge, "acme/tools/pdf"), "the late one must not take down what is back"
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


class Frozen(Dying):
    """A store whose writer freezes before its first write."""

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge, 0, after=False)
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def write(self, *given: object, **more: object) -> bool:
        self.reached.set()
        await self.go_on.wait()
        return await super().write(*given, **more)


async def is_there(edge: Edge, name: str) -> bool:
    """Return whether the edge copy lists this."""
    return (await edge.get([skill_key(name)])) != [None]


async def test_copy_of_another_format_is_rebuilt(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """after an upgrade."""
    await publish(registry, "pdf")
    await bring_level(registry, edge)
    serial = await edge.read_serial()
    old = encode(StateValue(serial=serial, as_of=None, form="another"))
    bad = {STATE: old, skill_key("acme/tools/pdf"): b"old", skill_key("acme/tools/gone"): b"old"}
    assert await edge.write(bad, (), since=serial, serial=serial)
    await bring_level(registry, edge)
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


async def test_database_restored_from_backup_is_not_followed(registry: Registry, edge: Edge) -> None:
    """the copy may be the only one that knows some listings; the operator decides."""
    await publish(registry, "pdf")
    await bring_level(registry, edge)
    serial = await edge.read_serial()
    assert await edge.write({}, (), since=serial, serial=serial + 100)
    with pytest.raises(Conflict, match="assay rebuild-index"):
        await projector_of(registry, edge).catch_up()
    assert await is_there(edge, "acme/tools/pdf")


async def test_alias_leads_to_all_listings_that_had_the_name(registry: Registry, edge: Edge) -> None:
    await publish(registry, "pdf", "csv")
    async with registry.app.store.begin() as db:
        for name in ("pdf", "csv"):
            await add_alias(db, "flat-slug", (await lock_skill(db, f"acme/tools/{name}")).id)
    await bring_level(registry, edge)
    copy = type(registry.app.copy)(edge, registry.app.clock.now)
    with pytest.raises(Exception, match="Several skills are called flat-slug"):
        await copy.find("flat-slug")


async def test_copy_reports_its_serial_and_lag(registry: Registry, edge: Edge) -> None:
    await publish(registry, "pdf")
    async with registry.app.store.begin() as db:
        behind = await read_lag(db, await edge.read_serial())
    assert behind.waiting > 0
    assert behind.since is not None
    await bring_level(registry, edge)
    async with registry.app.store.begin() as db:
        level = await read_lag(db, await edge.read_serial())
    assert (level.waiting, level.since) == (0, None)
    state = await read_state(edge)
    assert state is not None
    assert state.as_of is not None


async def test_projector_follows_commits(registry: Registry, edge: Edge) -> None:
    """including the index."""
    stopping = asyncio.Event()
    running = asyncio.create_task(projector_of(registry, edge).run(registry.app.database_url, stopping))
    await publish(registry, "pdf")
    await until(lambda: is_there(edge, "acme/tools/pdf"))
    await take_down(registry, "acme/tools/pdf")

    async def is_gone() -> bool:
        return not await is_there(edge, "acme/tools/pdf")

    await until(is_gone)
    stopping.set()
    await running


async def test_worker_updates_the_copy_for_other_processes(
    registry: Registry, settings: Settings, tmp_path: Path
) -> None:
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    with a_worker(settings, tmp_path / "worker.log"):
        await until(lambda: is_there(registry.app.edge, "acme/tools/pdf"))
