"""The change feed over HTTP: every catalogue change, in order, with its reason, signed."""

from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import text

from assay.certify.signature import is_signed
from assay.model.skill import ListingStatus
from assay.moderation.withdraw import restore, status_reason, tombstone, unlist, unyank, yank
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.streams import reading, serving

pytestmark = pytest.mark.process

FEED = "/api/v1/changes"


async def a_busy_catalogue(registry: Registry) -> None:
    """Publish two versions of a skill, then yank, unlist, move and tombstone it."""
    repository = registry.github.add_repository("acme/old", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/old", "greet")
    await registry.work()
    repository.push({"SKILL.md": a_skill("greet", description="Says hello better.")})
    await registry.submit("acme/old", "greet")
    await registry.work()
    name, app = "acme/old/greet", registry.app
    async with app.store.begin() as db:
        why = status_reason("yanked", "It greets the wrong people.", at=app.clock.now(), by="acme")
        await yank(db, name, "1.0.1", why)
        await unyank(db, name, "1.0.1", by="acme")
        await unlist(db, name, status_reason("unlisted", "On holiday.", at=app.clock.now(), by="acme"))
        await restore(db, name, of=ListingStatus.UNLISTED, by="acme")
    repository.rename("acme/new")
    await registry.submit("acme/old", "greet")
    await registry.work()
    async with app.store.begin() as db:
        gone = status_reason("source_not_found", "The repository is gone.", at=app.clock.now(), by="watch")
        await tombstone(db, "acme/new/greet", gone)


async def the_whole_feed(registry: Registry) -> dict[str, Any]:
    """Read the feed until it has every change: entries newer than the oldest open transaction are held back."""
    page: dict[str, Any] = {}

    async def is_whole() -> bool:
        nonlocal page
        page = (await registry.client.get(FEED)).json()
        return any(each["kind"] == "tombstone" for each in page["changes"])

    await until(is_whole)
    return page


async def test_feed_has_every_change_with_its_reason(registry: Registry) -> None:
    """Each change appears once, in commit order."""
    await a_busy_catalogue(registry)
    page = await the_whole_feed(registry)
    kinds = [each["kind"] for each in page["changes"]]
    assert kinds == ["publish", "version", "yank", "unyank", "unlist", "restore", "rename", "update", "tombstone"]
    by_kind = {each["kind"]: each["data"] for each in page["changes"]}
    assert by_kind["yank"] | {"digest": ""} == {
        "name": "acme/old/greet",
        "version": "1.0.1",
        "digest": "",
        "reason": {"code": "yanked", "message": "It greets the wrong people."},
    }
    assert by_kind["rename"] == {"name": "acme/new/greet", "from": "acme/old/greet"}
    assert by_kind["tombstone"]["reason"]["message"] == "The repository is gone."
    serials = [each["serial"] for each in page["changes"]]
    assert serials == sorted(set(serials))
    assert (page["nextSince"], page["hasMore"]) == (serials[-1], False)


async def test_feed_pages_have_no_gaps_or_repeats(registry: Registry) -> None:
    await a_busy_catalogue(registry)
    whole = (await the_whole_feed(registry))["changes"]
    gathered, since, more = [], 0, True
    while more:
        page = (await registry.client.get(FEED, params={"since": since, "limit": 2})).json()
        gathered += page["changes"]
        since, more = page["nextSince"], page["hasMore"]
    assert gathered == whole


async def test_feed_pages_are_signed(registry: Registry) -> None:
    """The signature covers the response bytes; an unchanged page returns 304."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    first = await registry.client.get(FEED)
    empty = await registry.client.get(FEED, params={"since": first.json()["nextSince"]})
    keys = {
        key["id"]: key["publicKey"]
        for key in (await registry.client.get("/.well-known/assay/keys.json")).json()["keys"]
    }
    signatures = []
    for answer in (first, empty):
        key, signature = (part.split("=", 1)[1].strip('"') for part in answer.headers["Assay-Signature"].split(", "))
        assert is_signed(answer.content, key, signature, keys)
        signatures.append((key, signature))
    assert not is_signed(first.content, *signatures[1], keys)
    assert not is_signed(first.content, "0" * 32, signatures[0][1], keys)
    again = await registry.client.get(FEED, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.json()["registry"] == registry.app.settings.base_url


async def test_catalogue_stream_sends_changes_live(registry: Registry) -> None:
    """G73: over a real connection, with serials as ids and without queue events."""
    async with serving(registry.app) as url, reading(url, FEED + "/stream") as stream:
        registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
        await registry.submit("acme/tools", "greet")
        await registry.work()
        event = await stream.next()
        assert (event.name, event.data["kind"]) == ("catalogue_changed", "publish")
        assert event.data["data"]["name"] == "acme/tools/greet"
        assert int(event.id) == (await registry.client.get(FEED)).json()["nextSince"]


async def test_rss_feed_lists_new_skills(registry: Registry) -> None:
    """Valid XML for any description, newest first, live listings only."""
    for number, said in enumerate(["First <b>&amp;", "Second ]]> \u0007bell", "Third"]):
        files = {"SKILL.md": a_skill(f"skill-{number}", description=said)}
        registry.github.add_repository(f"acme/n{number}", files=files)
        await registry.submit(f"acme/n{number}", f"skill-{number}", as_operator=True)
        await registry.work()
    async with registry.app.store.begin() as db:
        await unlist(db, "acme/n2/skill-2", status_reason("unlisted", "Gone.", at=registry.app.clock.now(), by="acme"))
    answer = await registry.client.get("/feed.xml")
    assert answer.headers["content-type"].startswith("application/rss+xml")
    titles = [item.findtext("title") for item in ElementTree.fromstring(answer.content).iter("item")]
    assert titles == ["acme/n1/skill-1", "acme/n0/skill-0"]


async def test_change_kinds_match_the_database_constraint(registry: Registry) -> None:
    async with registry.app.store.begin() as db:
        known = await db.execute(
            text("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'change_kind_check'")
        )
        definition = known.scalar_one()
    assert all(f"'{kind}'" in definition for kind in ("publish", "yank", "withdraw", "rename", "tombstone", "block"))
