"""Listings for tests: published, changed and looked at, and whether everything that is said of them agrees."""

import asyncio
from typing import Any

from sqlalchemy import text

from assay.store.feed.changes import number_changes
from tests.support.registry import Registry
from tests.support.skills import a_skill


async def publish(registry: Registry, repository: str, *descriptions: str, name: str = "greet") -> str:
    """A skill at the root of a repository, with a version for each description. Returns the name of the listing."""
    for description in descriptions:
        files = {"SKILL.md": a_skill(name, description=description)}
        known, _ = registry.github.directory.find(repository)
        if known is not None:
            known.push(files)
        else:
            registry.github.add_repository(repository, files=files)
        await registry.submit(repository, name)
        await registry.work()
    return f"{repository}/{name}".lower()


async def read(registry: Registry, name: str) -> dict[str, Any]:
    """A listing over HTTP."""
    answer = await registry.client.get(f"/api/v1/skills/{name}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def gone(registry: Registry, name: str) -> dict[str, Any]:
    """The answer about a listing that is not there any more."""
    answer = await registry.client.get(f"/api/v1/skills/{name}")
    assert answer.status_code == 410, answer.text
    return answer.json()


async def changes(registry: Registry, *kinds: str) -> list[dict[str, Any]]:
    """What the feed tells, oldest first; only these kinds, or all."""
    await _until_numbered(registry)
    answer = await registry.client.get("/api/v1/changes", params={"limit": 1000})
    return [each for each in answer.json()["changes"] if not kinds or each["kind"] in kinds]


async def agree(registry: Registry, *live: str) -> None:
    """List, search, counters, facets and the feed say that exactly these are live."""
    page = (await registry.client.get("/api/v1/skills", params={"limit": 100})).json()
    assert sorted(each["name"] for each in page["skills"]) == sorted(live)
    assert page["total"] == len(live)
    async with registry.app.store.begin() as db:
        named = (await db.execute(text("SELECT name FROM skill"))).scalars().all()
        truth = "SELECT {0} AS value, count(*) FROM skill WHERE standing = 'live' GROUP BY {0}"
        counted = "SELECT value, sum(number) FROM skill_count WHERE facet = :f GROUP BY value HAVING sum(number) <> 0"
        for facet in ("category", "tier"):
            expected = dict((await db.execute(text(truth.format(facet)))).all())
            assert dict((await db.execute(text(counted), {"f": facet})).all()) == expected
    for name in named:
        hits = (await registry.client.get("/api/v1/skills/search", params={"q": name})).json()["results"]
        # Whoever asks for what was blocked by its name is warned of it.
        found = [each["name"] for each in hits if not each["isBlocked"]]
        assert (name in found) == (name in live), name
    assert await replayed(registry) == sorted(live)


async def replayed(registry: Registry) -> list[str]:
    """The names that are live, by nothing but the feed."""
    live: dict[str, str] = {}
    down = {"tombstone", "unlist"}
    for each in await changes(registry):
        skill = each["skillId"]
        if each["kind"] in ("publish", "restore") or (each["kind"] == "rename" and skill in live):
            live[skill] = each["data"]["name"]
        elif each["kind"] in down:
            live.pop(skill, None)
    return sorted(live.values())


async def _until_numbered(registry: Registry) -> None:
    """Serials wait for every transaction that is open on the server, also those of other tests."""
    async with asyncio.timeout(60):
        while True:
            async with registry.app.store.begin() as db:
                await number_changes(db)
                missing = await db.execute(text("SELECT count(*) FROM change WHERE serial IS NULL"))
                if not missing.scalar_one():
                    return
            await asyncio.sleep(0.01)
