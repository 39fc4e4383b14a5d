"""The copy follows the changes, whatever happens to whoever follows them."""

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
from assay.model.blocklist import BlocklistEntry, Target, Threat
from assay.model.errors import Conflict, Unavailable
from assay.model.finding import Severity
from assay.model.ids import new_id
from assay.model.listing_status import Remark, Standing
from assay.moderation.blocklist import block, unblock
from assay.moderation.withdraw import restore, unlist
from assay.settings import Settings
from assay.store.feed.edge_rows import read_lag
from assay.store.versions.status import add_alias, lock_skill, rename
from tests.support.edge_copies import Dying, Killed, bring_level, expected, meaning_of, projector_of
from tests.support.edge_stores import contents_of, keys_of
from tests.support.processes import a_worker, until
from tests.support.registry import Registry
from tests.support.skills import a_repository

NAMES = ("pdf", "csv", "greet", "draw")
WHY = Remark("owner_request", "The owner asked for it.", datetime(2026, 7, 1, tzinfo=UTC), "somebody")
ROUNDS = 30


async def publish(registry: Registry, *names: str) -> None:
    """List skills of acme/tools."""
    registry.github.add_repository("acme/tools", files=a_repository(*NAMES))
    for name in names:
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.work()


async def take_down(registry: Registry, name: str) -> None:
    """Unlist one."""
    async with registry.app.store.begin() as db:
        await unlist(db, name, WHY)


async def call(registry: Registry, name: str, new: str) -> None:
    """Rename one."""
    async with registry.app.store.begin() as db:
        await rename(db, await lock_skill(db, name), new)


def an_entry(target: Target) -> BlocklistEntry:
    """An entry of the blocklist."""
    now = datetime(2026, 7, 1, tzinfo=UTC)
    return BlocklistEntry(new_id(), target, Threat.MALWARE, Severity.CRITICAL, "It is bad.", (), now, "somebody", None)


async def test_every_kind_of_change_reaches_the_copy(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """G68: publish, take down, rename, block, restore, submit: after each, the copy says what the tables say."""

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
    entry = an_entry(Target(repository="acme/tools", skill_name="draw"))
    async with registry.app.store.begin() as db:
        await block(db, entry)
    await check("pdf", "hello")
    assert await keys_of(edge, "block:") == [f"block:{entry.id}"]
    assert [each.id for each in await registry_copy(registry, edge)] == [entry.id]
    async with registry.app.store.begin() as db:
        await unblock(db, entry.id, reason="It was not.", by="somebody")
        await restore(db, "acme/tools/csv", of=Standing.UNLISTED, by="somebody")
    await check("pdf", "csv", "hello", "draw")
    assert await keys_of(edge, "block:") == []


async def registry_copy(registry: Registry, edge: Edge) -> list[BlocklistEntry]:
    """The blocklist as others read it from the copy."""
    copy = type(registry.app.copy)(edge, registry.app.clock.now)
    return await copy.blocklist()


async def test_a_name_that_another_listing_takes_over_stays(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """Renamed away and taken at once by another: the key belongs to the new one, in whichever pages the changes are."""
    await publish(registry, "pdf", "csv")
    await bring_level(registry, edge)
    await call(registry, "acme/tools/pdf", "acme/tools/old-pdf")
    await call(registry, "acme/tools/csv", "acme/tools/pdf")
    await bring_level(registry, edge)
    assert await keys_of(edge, "skill:") == [skill_key("acme/tools/old-pdf"), skill_key("acme/tools/pdf")]
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_killed_at_any_write_and_run_again_the_copy_is_the_same(
    registry: Registry, edge: Edge, tmp_path: Path, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G68: first copy, pages and rebuild are cut at each write in turn; whoever comes next ends with the same."""
    monkeypatch.setattr("assay.edge_sync.projector.PAGE", 3)
    await publish(registry, *NAMES)
    kills = 0
    for number in range(1, ROUNDS):
        chosen = random.Random(number)
        name = f"acme/tools/{chosen.choice(NAMES)}"
        async with registry.app.store.begin() as db:
            standing = (await lock_skill(db, name)).standing
            if standing is Standing.LIVE:
                await unlist(db, name, WHY)
            else:
                await restore(db, name, of=Standing.UNLISTED, by="somebody")
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


async def test_two_projectors_are_as_good_as_one(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """G68: whoever does not get the lock leaves; whoever had it and froze is refused by the copy itself."""
    await publish(registry, *NAMES)
    projectors = [projector_of(registry, edge) for _ in range(4)]
    await bring_level(registry, edge)
    frozen = Frozen(edge)
    await take_down(registry, "acme/tools/pdf")
    late = asyncio.create_task(bring_level(registry, frozen))
    await frozen.reached.wait()
    async with registry.app.store.begin() as db:  # what a network does to the connection of a frozen process
        kill = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        await db.execute(text(kill))
    async with registry.app.store.begin() as db:
        await restore(db, "acme/tools/pdf", of=Standing.UNLISTED, by="somebody")
    await asyncio.gather(*(each.catch_up() for each in projectors))
    await bring_level(registry, edge)
    await until(lambda: is_there(edge, "acme/tools/pdf"))
    frozen.go_on.set()
    with pytest.raises(Unavailable):
        await late
    assert await is_there(edge, "acme/tools/pdf"), "the late one must not take down what is back"
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


class Frozen(Dying):
    """A store whose user stands still just before its first write."""

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge, 0, after=False)
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def write(self, *given: object, **more: object) -> bool:
        """Waits."""
        self.reached.set()
        await self.go_on.wait()
        return await super().write(*given, **more)


async def is_there(edge: Edge, name: str) -> bool:
    """Whether the copy lists this."""
    return (await edge.get([skill_key(name)])) != [None]


async def test_a_copy_of_another_form_is_made_anew(registry: Registry, edge: Edge, tmp_path: Path) -> None:
    """After an upgrade that changes what values look like nobody has to do anything."""
    await publish(registry, "pdf")
    await bring_level(registry, edge)
    serial = await edge.read_serial()
    old = encode(StateValue(serial=serial, as_of=None, form="another"))
    bad = {STATE: old, skill_key("acme/tools/pdf"): b"old", skill_key("acme/tools/gone"): b"old"}
    assert await edge.write(bad, (), since=serial, serial=serial)
    await bring_level(registry, edge)
    assert await meaning_of(edge) == await expected(registry, tmp_path / "fresh")


async def test_a_database_that_was_set_back_is_not_followed_blindly(registry: Registry, edge: Edge) -> None:
    """The copy may then be the only one that knows some listings: a person decides, and is told how."""
    await publish(registry, "pdf")
    await bring_level(registry, edge)
    serial = await edge.read_serial()
    assert await edge.write({}, (), since=serial, serial=serial + 100)
    with pytest.raises(Conflict, match="assay rebuild-index"):
        await projector_of(registry, edge).catch_up()
    assert await is_there(edge, "acme/tools/pdf")


async def test_aliases_lead_to_all_that_had_the_name(registry: Registry, edge: Edge) -> None:
    """One name, two listings: the copy knows both, as the tables do."""
    await publish(registry, "pdf", "csv")
    async with registry.app.store.begin() as db:
        for name in ("pdf", "csv"):
            await add_alias(db, "flat-slug", (await lock_skill(db, f"acme/tools/{name}")).id)
    await bring_level(registry, edge)
    copy = type(registry.app.copy)(edge, registry.app.clock.now)
    with pytest.raises(Exception, match="Several skills are called flat-slug"):
        await copy.find("flat-slug")


async def test_the_copy_says_until_when_it_is_complete_and_how_far_it_is_behind(registry: Registry, edge: Edge) -> None:
    """The lag is counted in changes and in time, and is none when all is taken over."""
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


async def test_it_follows_by_itself(registry: Registry, edge: Edge) -> None:
    """Woken by the commit: what is published is in the copy before its next tick, and the index has it, too."""
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


async def test_a_worker_keeps_the_copy_that_others_read(registry: Registry, settings: Settings, tmp_path: Path) -> None:
    """The projector runs in the worker process; this process reads the same folder."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    with a_worker(settings, tmp_path / "worker.log"):
        await until(lambda: is_there(registry.app.edge, "acme/tools/pdf"))
