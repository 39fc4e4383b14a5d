"""The blocklist: blocked content is neither served nor published, and returns when the entry is lifted."""

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.finding import Severity
from assay.model.ids import new_id
from assay.model.skill import ListingStatus
from assay.moderation.blocklist import block, normalise_target, unblock
from assay.moderation.withdraw import restore, status_reason, unlist, unyank, withdraw, yank
from assay.store.moderation.blocklist import find_block
from tests.support.catalogue import agree, changes, gone, publish, read
from tests.support.registry import Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

WHEN = datetime(2026, 11, 16, tzinfo=UTC)


def an_entry(**target: object) -> BlocklistEntry:
    """Return an entry for this target."""
    aim = normalise_target(BlocklistTarget(**target))  # type: ignore[arg-type]
    return BlocklistEntry(
        new_id(), aim, Threat.MALWARE, Severity.CRITICAL, "It steals keys.", (), WHEN, "root", lifted_at=None
    )


async def blocked(registry: Registry, **target: object) -> tuple[BlocklistEntry, list[str]]:
    """Block a target and return the entry and the withdrawn names."""
    entry = an_entry(**target)
    async with registry.app.store.begin() as db:
        return entry, await block(db, entry)


async def lifted(registry: Registry, entry: BlocklistEntry) -> list[str]:
    """Lift an entry, run the worker, and return the restored names."""
    async with registry.app.store.begin() as db:
        back = await unblock(db, entry.id, reason="It was a mistake.", by="root")
    await registry.work()
    return back


async def states(registry: Registry) -> list[tuple[str, str]]:
    """Return the state of every submission by skill."""
    async with registry.app.store.begin() as db:
        rows = await db.execute(
            text(
                "SELECT repository.owner || '/' || skill_name, state FROM submission "
                "JOIN repository ON repository.id = repository_id ORDER BY 1"
            )
        )
        return [tuple(row) for row in rows]


async def test_skill_of_one_repository_is_blocked_there_only(registry: Registry) -> None:
    """G56."""
    for owner in ("acme", "umbrella"):
        await publish(registry, f"{owner}/kit", f"Searches, by {owner}.", name="google")
    entry, taken = await blocked(registry, repository="Umbrella/Kit", skill_name="google")
    assert taken == ["umbrella/kit/google"]
    problem = await gone(registry, "umbrella/kit/google")
    assert problem["code"] == "skill_blocked"
    assert "malware: It steals keys." in problem["detail"]
    assert await states(registry) == [("acme/google", "PUBLISHED"), ("umbrella/google", "BLOCKED")]
    await agree(registry, "acme/kit/google")
    assert (await registry.submit("umbrella/kit", "google"))["blocked"]
    assert await lifted(registry, entry) == ["umbrella/kit/google"]
    assert await states(registry) == [("acme/google", "PUBLISHED"), ("umbrella/google", "PUBLISHED")]
    await agree(registry, "acme/kit/google", "umbrella/kit/google")
    assert [each["version"] for each in (await read(registry, "umbrella/kit/google"))["versions"]] == ["1.0.0"]


async def test_name_is_blocked_everywhere_only_on_request(registry: Registry) -> None:
    """G56: then also for later submissions."""
    with pytest.raises(Invalid, match="everywhere"):
        normalise_target(BlocklistTarget(skill_name="google"))
    for owner in ("acme", "umbrella"):
        await publish(registry, f"{owner}/kit", "Searches.", name="google")
    entry, taken = await blocked(registry, skill_name="Google", everywhere=True)
    assert sorted(taken) == ["acme/kit/google", "umbrella/kit/google"]
    await publish(registry, "late/kit", "Searches, too.", name="google")
    await publish(registry, "late/other", "Finds things.", name="finder")
    await agree(registry, "late/other/finder")
    assert dict(await states(registry))["late/google"] == "BLOCKED"
    await lifted(registry, entry)
    assert set(dict(await states(registry)).values()) == {"PUBLISHED"}
    await agree(registry, "acme/kit/google", "umbrella/kit/google", "late/kit/google", "late/other/finder")


async def test_content_is_blocked_under_every_name(registry: Registry) -> None:
    """the previous version becomes live; later copies are caught."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    bad = (await read(registry, name))["skill"]["contentDigest"]
    entry, taken = await blocked(registry, content_digest=bad)
    assert taken == [name]
    listing = (await read(registry, name))["skill"]
    assert (listing["currentVersion"], listing["description"]) == ("1.0.0", "Says hello.")
    # A copy, and an innocent skill in the same batch.
    registry.github.add_repository("thief/copy", files={"SKILL.md": a_skill("greet", description="Says goodbye.")})
    registry.github.add_repository("fair/kit", files={"SKILL.md": a_skill("fair", description="Is fair.")})
    copy = await registry.submit("thief/copy", "greet")
    await registry.submit("fair/kit", "fair")
    await registry.work()
    detail = await registry.read(copy["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("BLOCKED", "blocklisted")
    assert "It steals keys." in detail["reason"]["message"]
    await agree(registry, name, "fair/kit/fair")
    await lifted(registry, entry)
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.1"
    await agree(registry, name, "fair/kit/fair", "thief/copy/greet")


async def test_blocking_unavailable_content_does_not_touch_its_listing(registry: Registry) -> None:
    """G56: otherwise edge copies would miss the change."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    bad = (await read(registry, name))["skill"]["contentDigest"]
    async with registry.app.store.begin() as db:
        await withdraw(db, name, "1.0.1", status_reason("malware", "It was found out.", at=WHEN, by="root"))
    before, told = (await read(registry, name))["skill"], await changes(registry)
    await blocked(registry, content_digest=bad)
    assert (await read(registry, name))["skill"] == before
    assert [each["kind"] for each in (await changes(registry))[len(told) :]] == ["block"]


async def test_blocking_the_only_version_takes_down_the_listing(registry: Registry) -> None:
    """lifting restores it."""
    name = await publish(registry, "acme/tools", "Says hello.")
    entry, _ = await blocked(registry, content_digest=(await read(registry, name))["skill"]["contentDigest"])
    assert (await gone(registry, name))["code"] == "skill_blocked"
    await agree(registry)
    assert await lifted(registry, entry) == [name]
    await agree(registry, name)
    assert [each["kind"] for each in await changes(registry)] == [
        "publish", "withdraw", "tombstone", "block", "unyank", "restore", "unblock", "update",
    ]  # fmt: skip


async def test_lifting_restores_exactly_the_previous_state(registry: Registry) -> None:
    """yanked and unlisted stay; another entry still applies."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    digest = (await read(registry, name))["skill"]["contentDigest"]
    async with registry.app.store.begin() as db:
        await yank(db, name, "1.0.1", status_reason("yanked", "It is broken.", at=WHEN, by="acme"))
    by_digest, _ = await blocked(registry, content_digest=digest)
    by_repository, _ = await blocked(registry, repository="acme/tools")
    assert await lifted(registry, by_digest) == []
    assert (await gone(registry, name))["code"] == "skill_blocked"
    assert await lifted(registry, by_repository) == [name]
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    async with registry.app.store.begin() as db:
        await unyank(db, name, "1.0.1", by="acme")
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.1"
    async with registry.app.store.begin() as db:
        await unlist(db, name, status_reason("unlisted", "Not ready yet.", at=WHEN, by="acme"))
    entry, _ = await blocked(registry, repository="acme/tools")
    with pytest.raises(Conflict, match="blocklist"):
        async with registry.app.store.begin() as db:
            await restore(db, name, of=ListingStatus.UNLISTED, by="acme")
    assert await lifted(registry, entry) == []
    assert (await gone(registry, name))["code"] == "skill_unlisted"
    await agree(registry)


async def test_renaming_does_not_evade_the_blocklist(registry: Registry) -> None:
    """G56."""
    name = await publish(registry, "acme/old", "Says hello.")
    entry, _ = await blocked(registry, repository="acme/old")
    known, _ = registry.github.directory.find("acme/old")
    assert known is not None
    known.rename("acme/new")
    known.push({"skills/next/SKILL.md": a_skill("next", description="Another one.")})
    await registry.submit("acme/new", "next", "skills/next/SKILL.md")
    await registry.work()
    await registry.submit("acme/new", "next", "skills/next/SKILL.md")
    await registry.work()
    assert "PUBLISHED" not in dict(await states(registry)).values()
    await agree(registry)
    assert (await gone(registry, name))["detail"].startswith("acme/new/greet is blocked")
    assert "acme/new/greet" in await lifted(registry, entry)
    await blocked(registry, repository="evil/kit")
    known.rename("evil/kit")
    await registry.submit("acme/new", "next", "skills/next/SKILL.md")
    await registry.work()
    assert (await gone(registry, "acme/new/greet"))["code"] == "skill_blocked"
    await agree(registry)


async def test_duplicate_entry_is_rejected(registry: Registry) -> None:
    """and an unknown one cannot be lifted."""
    entry, _ = await blocked(registry, repository="acme/tools")
    with pytest.raises(Conflict, match="already"):
        await blocked(registry, repository="acme/tools")
    await lifted(registry, entry)
    with pytest.raises(NotFound):
        await lifted(registry, entry)
    await blocked(registry, repository="acme/tools")


async def test_block_and_publish_are_serialised(registry: Registry) -> None:
    store = registry.app.store
    entry = an_entry(repository="acme/tools")
    async with store.begin() as publishing:
        assert await find_block(publishing, BlocklistTarget(repository="acme/tools")) is None
        blocking = asyncio.create_task(blocked(registry, repository="umbrella/kit"))
        await _until_waiting(registry)
        assert not blocking.done()
    await blocking
    async with store.begin() as db:
        await block(db, entry)
        looking = asyncio.create_task(_look(registry))
        await _until_waiting(registry)
        assert not looking.done()
    assert await looking == entry.id


@pytest.mark.parametrize("round_", range(3))
async def test_concurrent_blocks_and_publishes(registry: Registry, round_: int) -> None:
    """no deadlock, and nothing blocked is live afterwards."""
    owners = [f"owner{number}" for number in range(6)]
    for owner in owners[:3]:
        await publish(registry, f"{owner}/kit", f"First of {owner}, round {round_}.")
    for owner in owners:
        files = {"SKILL.md": a_skill("greet", description=f"Second of {owner}, round {round_}.")}
        known, _ = registry.github.directory.find(f"{owner}/kit")
        if known is not None:
            known.push(files)
        else:
            registry.github.add_repository(f"{owner}/kit", files=files)
        await registry.submit(f"{owner}/kit", "greet")

    async def block_all() -> None:
        for owner in owners:
            await blocked(registry, repository=f"{owner}/kit")

    await asyncio.gather(registry.work(), block_all())
    await agree(registry)
    assert {state for _, state in await states(registry)} == {"BLOCKED"}


async def _look(registry: Registry) -> object:
    async with registry.app.store.begin() as db:
        found = await find_block(db, BlocklistTarget(repository="acme/tools"))
    return found.id if found else None


async def _until_waiting(registry: Registry) -> None:
    """Wait until a transaction waits for the blocklist lock."""
    statement = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    async with asyncio.timeout(30):
        while True:
            async with registry.app.store.begin() as db:
                if (await db.execute(statement)).scalar_one():
                    return
            await asyncio.sleep(0.01)
