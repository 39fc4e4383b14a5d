"""Listings for tests, and checks that all views of them agree."""

import asyncio
from typing import Any

from sqlalchemy import text

from assay.store.feed.changes import number_changes
from tests.support.registry import Registry
from tests.support.skills import a_skill


async def publish(registry: Registry, repository: str, *descriptions: str, name: str = "greet") -> str:
    """Publish a skill with one version per description and return its name."""
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
    """Return a listing over HTTP."""
    answer = await registry.client.get(f"/api/v1/skills/{name}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def gone(registry: Registry, name: str) -> dict[str, Any]:
    """Return the response for a listing that is gone."""
    answer = await registry.client.get(f"/api/v1/skills/{name}")
    assert answer.status_code == 410, answer.text
    return answer.json()


async def changes(registry: Registry, *kinds: str) -> list[dict[str, Any]]:
    """Return the change feed, oldest first, optionally only these kinds."""
    await _until_numbered(registry)
    answer = await registry.client.get("/api/v1/changes", params={"limit": 1000})
    return [each for each in answer.json()["changes"] if not kinds or each["kind"] in kinds]


async def agree(registry: Registry, *live: str) -> None:
    """Check that list, search, counters, facets and feed agree on the live listings."""
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
        # A search for a blocked name returns a warning.
        found = [each["name"] for each in hits if not each["isBlocked"]]
        assert (name in found) == (name in live), name
    assert await replayed(registry) == sorted(live)


async def replayed(registry: Registry) -> list[str]:
    """Return the live names according to the change feed alone."""
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
    """Wait for serials, which are held back by every open transaction of the server."""
    async with asyncio.timeout(60):
        while True:
            async with registry.app.store.begin() as db:
                await number_changes(db)
                missing = await db.execute(text("SELECT count(*) FROM change WHERE serial IS NULL"))
                if not missing.scalar_one():
                    return
            await asyncio.sleep(0.01)
