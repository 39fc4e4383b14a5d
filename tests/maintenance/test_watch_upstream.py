"""Watching the sources: what changes is looked at again, what is gone is taken down, and nothing is asked twice."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from assay.maintenance.watch_upstream import Watch
from tests.support.archives import a_zip
from tests.support.catalogue import agree, changes
from tests.support.fake_github import FakeRepository
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.skills import a_skill

Look = Callable[[], Awaitable[int]]
NAME = "acme/tools/greet"
KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def look(registry: Registry) -> Look:
    """Everything is due, and looked at once; what is missing is missing for good."""

    async def look_now() -> int:
        async with registry.app.store.begin() as db:
            await db.execute(text("UPDATE upstream_check SET due_at = now()"))
        return await a_watch(registry).look()

    return look_now


def a_watch(registry: Registry, grace: timedelta = timedelta(0)) -> Watch:
    """As a worker has it."""
    return Watch(registry.app.store, registry.app.github, registry.app.clock, timedelta(hours=6), grace)


async def a_listing(registry: Registry) -> FakeRepository:
    """A repository with one skill, listed."""
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    return repository


async def the_skill(registry: Registry, name: str = NAME) -> dict[str, Any]:
    """What is said of it, or of why it is gone."""
    answer = (await registry.client.get(f"/api/v1/skills/{name}")).json()
    return answer.get("skill", answer)


async def test_what_changed_is_a_new_version_and_the_old_one_stays_until_then(registry: Registry, look: Look) -> None:
    """G52, G53: nobody has to submit it again; until it is examined the last good version is live."""
    repository = await a_listing(registry)
    await look()
    repository.push({"SKILL.md": a_skill("greet", description="Says hello better.")})
    assert await look() == 1
    assert (await the_skill(registry))["currentVersion"] == "1.0.0"
    await registry.work()
    assert (await the_skill(registry))["currentVersion"] == "1.0.1"


async def test_a_look_at_what_has_not_changed_is_free(registry: Registry, look: Look) -> None:
    """The first look describes the source; each one after that is a conditional request that costs no call."""
    await a_listing(registry)
    await look()
    before = len(registry.github.calls)
    for _ in range(5):
        await look()
    asked = list(registry.github.calls)[before:]
    assert [(call.route, call.status) for call in asked] == [("commit", 304)] * 5


async def test_every_skill_of_a_repository_follows_it(registry: Registry, look: Look) -> None:
    """G53: one skill that was submitted again does not hide from the watch that the others are old."""
    files = {f"{name}/SKILL.md": a_skill(name) for name in ("one", "two", "three")}
    repository = registry.github.add_repository("acme/many", files=files)
    for name in ("one", "two", "three"):
        await registry.submit("acme/many", name, f"{name}/SKILL.md")
    await registry.work()
    await look()
    repository.push({f"{name}/SKILL.md": a_skill(name, description="New.") for name in ("one", "two", "three")})
    await registry.submit("acme/many", "one", "one/SKILL.md")
    await registry.work()
    await look()
    await registry.work()
    versions = {name: (await the_skill(registry, f"acme/many/{name}"))["currentVersion"] for name in ("two", "three")}
    assert versions == {"two": "1.0.1", "three": "1.0.1"}


async def test_a_source_that_is_gone_takes_its_listing_along(registry: Registry, look: Look) -> None:
    """G53: with the reason, not in lists, and back when the source is back."""
    repository = await a_listing(registry)
    repository.private = True
    await look()
    gone = await registry.client.get(f"/api/v1/skills/{NAME}")
    assert (gone.status_code, gone.json()["code"]) == (410, "skill_gone")
    assert "GitHub has no" in gone.json()["detail"]
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 0
    repository.private = False
    await look()
    assert (await the_skill(registry))["name"] == NAME
    told = await changes(registry, "tombstone", "restore")
    assert [(each["kind"], each["data"]["standing"]) for each in told] == [("tombstone", "gone"), ("restore", "live")]
    await agree(registry, NAME)


async def test_a_source_that_is_back_does_not_undo_what_else_keeps_its_listing_down(
    registry: Registry, look: Look
) -> None:
    """The watch goes on with the others; the listing is there when it is neither missing nor blocked."""
    repository = await a_listing(registry)
    other = registry.github.add_repository("acme/other", files={"SKILL.md": a_skill("sing")})
    await registry.submit("acme/other", "sing")
    await registry.work()
    repository.private = True
    await look()
    body = {"threatType": "malware", "severity": "critical", "reason": "It bites.", "repository": "acme/tools"}
    entry = (await registry.client.post("/api/v1/admin/blocklist", json=body, headers=KEY)).json()["entry"]["id"]
    repository.private = False
    other.push({"SKILL.md": a_skill("sing", description="Sings better.")})
    assert await look() == 2
    await registry.work()
    assert (await the_skill(registry, "acme/other/sing"))["currentVersion"] == "1.0.1"
    await agree(registry, "acme/other/sing")
    lifted = await registry.client.request(
        "DELETE", f"/api/v1/admin/blocklist/{entry}", json={"reason": "It does not."}, headers=KEY
    )
    assert lifted.status_code == 200, lifted.text
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET described_at = NULL"))
    await look()
    await agree(registry, NAME, "acme/other/sing")


async def test_a_rate_limit_delays_the_watch_and_loses_nothing(registry: Registry, look: Look) -> None:
    """G34, G53: who may not ask waits; nothing is taken for missing, the wait is told, and the change is found after."""
    repository = await a_listing(registry)
    await look()
    repository.push({"SKILL.md": a_skill("greet", description="Says hello better.")})
    registry.github.limit_anonymous(0)
    await look()
    async with registry.app.store.begin() as db:
        row = (await db.execute(text("SELECT failures, missing_since, due_at > now() FROM upstream_check"))).one()
        await db.execute(text("UPDATE upstream_check SET seen_at = now() - interval '13 hours'"))
    assert tuple(row) == (1, None, True)
    assert (await the_skill(registry))["currentVersion"] == "1.0.0"
    health = (await registry.client.get("/api/v1/queue/health")).json()
    assert health["sources"]["failing"] == 1
    assert "sources_forgotten" in [alarm["code"] for alarm in health["alarms"]]
    registry.github.limit_anonymous(100_000)
    # Budgets are remembered until they are over, so another process asks.
    async with open_registry(registry.app.settings, registry.github) as later:
        async with later.app.store.begin() as db:
            await db.execute(text("UPDATE upstream_check SET due_at = now()"))
        assert await a_watch(later).look() == 1
        await later.work()
    assert (await the_skill(registry))["currentVersion"] == "1.0.1"
    sources = (await registry.client.get("/api/v1/queue/health")).json()["sources"]
    assert sources["failing"] == 0


async def test_one_miss_is_not_the_end(registry: Registry) -> None:
    """G36, G53: only what is still missing when the grace is over is taken down; who does not answer is not missing."""
    repository = await a_listing(registry)
    repository.private = True
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    await a_watch(registry, grace=timedelta(hours=1)).look()
    assert (await the_skill(registry))["name"] == NAME
    repository.private = False
    registry.github.fail("repo", 500, times=None)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    await a_watch(registry).look()
    assert (await the_skill(registry))["name"] == NAME


async def test_a_file_that_is_gone_takes_its_listing_along(registry: Registry, look: Look) -> None:
    """G53: the repository is there and the skill is not."""
    repository = await a_listing(registry)
    await look()
    repository.push({"README.md": "Moved.", "SKILL.md": None})
    await look()
    await registry.work()
    gone = await registry.client.get(f"/api/v1/skills/{NAME}")
    assert (gone.status_code, gone.json()["code"]) == (410, "skill_gone")
    repository.push({"SKILL.md": a_skill("greet")})
    await look()
    await registry.work()
    assert (await the_skill(registry))["currentVersion"] == "1.0.1", "the other file has become a part of it"


async def test_a_repository_that_moves_takes_its_listings_along(registry: Registry, look: Look) -> None:
    """G54: the new name, the new stars, and the old name leads to it."""
    repository = await a_listing(registry)
    repository.rename("umbrella/kit")
    repository.stars = 77
    await look()
    moved = await the_skill(registry, NAME)
    assert (moved["name"], moved["githubStars"]) == ("umbrella/kit/greet", 77)
    assert (await the_skill(registry, "umbrella/kit/greet"))["id"] == moved["id"]


async def test_two_processes_share_the_work(registry: Registry) -> None:
    """Each source is looked at once, by one of them."""
    for number in range(6):
        registry.github.add_repository(f"acme/n{number}", files={"SKILL.md": a_skill("greet", description=f"{number}")})
        await registry.submit(f"acme/n{number}", "greet")
    await registry.work()
    first, second = a_watch(registry), a_watch(registry)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    assert await first.look() + await second.look() == 6
    assert await first.look() == 0


async def test_health_says_how_fresh_the_listings_are(registry: Registry, look: Look) -> None:
    """G53: how fresh they are to be, the longest unseen source, and when each was last compared, for everybody to read."""
    await a_listing(registry)
    await look()
    sources = (await registry.client.get("/api/v1/queue/health")).json()["sources"]
    assert sources["oldestSeenAt"] is not None
    assert (sources["failing"], sources["targetSeconds"]) == (0, registry.app.settings.watch_seconds)
    before = (await registry.client.get(f"/api/v1/skills/{NAME}")).json()["sourceSeenAt"]
    assert before == sources["oldestSeenAt"]
    await look()
    assert (await registry.client.get(f"/api/v1/skills/{NAME}")).json()["sourceSeenAt"] > before
    shown = await registry.client.get(f"/skills/{NAME}", headers={"Accept": "text/html"})
    assert "Compared with its source" in shown.text


async def test_what_was_uploaded_has_no_source_to_be_compared_with(registry: Registry) -> None:
    """G53: nothing is said of a source where there is none."""
    files = {"archive": ("greet.zip", a_zip({"greet/SKILL.md": a_skill("greet")}))}
    assert (await registry.client.post("/api/v1/submissions/upload", files=files)).status_code == 201
    await registry.work()
    listing = (await registry.client.get("/api/v1/skills/local/uploads/greet")).json()
    assert listing["sourceSeenAt"] is None
    shown = await registry.client.get("/skills/local/uploads/greet", headers={"Accept": "text/html"})
    assert (shown.status_code, "Compared with its source" in shown.text) == (200, False)
