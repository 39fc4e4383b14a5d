"""Watching upstream repositories."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from assay.maintenance.watch_upstream import UpstreamWatcher
from tests.support.archives import a_zip
from tests.support.catalogue import agree, changes
from tests.support.fake_github import FakeRepository
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.skills import a_skill
from tests.support.web.owners import WHY
from tests.support.web.people import a_token, bearer

pytestmark = pytest.mark.process

Look = Callable[[], Awaitable[int]]
NAME = "acme/tools/greet"
KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def look(registry: Registry) -> Look:
    """Make everything due and check it once, without a grace period."""

    async def look_now() -> int:
        async with registry.app.store.begin() as db:
            await db.execute(text("UPDATE upstream_check SET due_at = now()"))
        return await a_watch(registry).run_batch()

    return look_now


def a_watch(registry: Registry, grace: timedelta = timedelta(0)) -> UpstreamWatcher:
    """Return a watch as a worker builds it."""
    return UpstreamWatcher(registry.app.store, registry.app.github, registry.app.clock, timedelta(hours=6), grace)


async def a_listing(registry: Registry) -> FakeRepository:
    """Publish a repository with one skill."""
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    return repository


async def the_skill(registry: Registry, name: str = NAME) -> dict[str, Any]:
    """Return the listing, or the reason it is gone."""
    answer = (await registry.client.get(f"/api/v1/skills/{name}")).json()
    return answer.get("skill", answer)


async def test_changed_repository_creates_a_version(registry: Registry, look: Look) -> None:
    """G52, G53: the old one stays live until then."""
    repository = await a_listing(registry)
    await look()
    repository.push({"SKILL.md": a_skill("greet", description="Says hello better.")})
    assert await look() == 1
    assert (await the_skill(registry))["currentVersion"] == "1.0.0"
    await registry.work()
    assert (await the_skill(registry))["currentVersion"] == "1.0.1"


async def test_unchanged_repository_costs_no_call(registry: Registry, look: Look) -> None:
    await a_listing(registry)
    await look()
    before = len(registry.github.calls)
    for _ in range(5):
        await look()
    asked = list(registry.github.calls)[before:]
    assert [(call.route, call.status) for call in asked] == [("commit", 304)] * 5


async def test_every_skill_of_a_repository_is_updated(registry: Registry, look: Look) -> None:
    """G53."""
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


async def test_missing_repository_takes_down_its_listing(registry: Registry, look: Look) -> None:
    """G53: and restores it on return."""
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


async def test_returning_repository_does_not_override_a_block(registry: Registry, look: Look) -> None:
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


async def test_rate_limit_delays_the_watch(registry: Registry, look: Look) -> None:
    """G34, G53: nothing is considered missing."""
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
    # Budgets are cached, so use another process.
    async with open_registry(registry.app.settings, registry.github) as later:
        async with later.app.store.begin() as db:
            await db.execute(text("UPDATE upstream_check SET due_at = now()"))
        assert await a_watch(later).run_batch() == 1
        await later.work()
    assert (await the_skill(registry))["currentVersion"] == "1.0.1"
    sources = (await registry.client.get("/api/v1/queue/health")).json()["sources"]
    assert sources["failing"] == 0


async def test_single_miss_is_not_enough(registry: Registry) -> None:
    """G36, G53: nor is an outage."""
    repository = await a_listing(registry)
    repository.private = True
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    await a_watch(registry, grace=timedelta(hours=1)).run_batch()
    assert (await the_skill(registry))["name"] == NAME
    repository.private = False
    registry.github.fail("repo", 500, times=None)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    await a_watch(registry).run_batch()
    assert (await the_skill(registry))["name"] == NAME


async def test_removed_skill_takes_down_its_listing(registry: Registry, look: Look) -> None:
    """G53."""
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


async def test_moved_repository_moves_its_listings(registry: Registry, look: Look) -> None:
    """G54."""
    repository = await a_listing(registry)
    repository.rename("umbrella/kit")
    repository.stars = 77
    await look()
    moved = await the_skill(registry, NAME)
    assert (moved["name"], moved["githubStars"]) == ("umbrella/kit/greet", 77)
    assert (await the_skill(registry, "umbrella/kit/greet"))["id"] == moved["id"]


async def test_processes_share_the_work(registry: Registry) -> None:
    for number in range(6):
        registry.github.add_repository(f"acme/n{number}", files={"SKILL.md": a_skill("greet", description=f"{number}")})
        await registry.submit(f"acme/n{number}", "greet")
    await registry.work()
    first, second = a_watch(registry), a_watch(registry)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now()"))
    assert await first.run_batch() + await second.run_batch() == 6
    assert await first.run_batch() == 0


async def test_health_shows_the_freshness_of_listings(registry: Registry, look: Look) -> None:
    """G53."""
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
    assert "Upstream checked" in shown.text


async def test_uploads_have_no_upstream(registry: Registry) -> None:
    """G53."""
    files = {"archive": ("greet.zip", a_zip({"greet/SKILL.md": a_skill("greet")}))}
    assert (await registry.client.post("/api/v1/submissions/upload", files=files, headers=KEY)).status_code == 201
    await registry.work()
    listing = (await registry.client.get("/api/v1/skills/local/uploads/greet")).json()
    assert listing["sourceSeenAt"] is None
    shown = await registry.client.get("/skills/local/uploads/greet", headers={"Accept": "text/html"})
    assert (shown.status_code, "Upstream checked" in shown.text) == (200, False)


async def test_unknown_owner_is_recorded_at_the_next_check(registry: Registry, look: Look) -> None:
    """G105: until then, only administrators may change the listings of a repository from before owners were recorded."""
    await a_listing(registry)
    await look()
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE repository SET owner_id = NULL"))
    owner, url = bearer(await a_token(registry.app, "acme")), f"/api/v1/skills/{NAME}/unlist"
    assert (await registry.client.post(url, json=WHY, headers=owner)).status_code == 403
    await look()
    assert (await registry.client.post(url, json=WHY, headers=owner)).status_code == 200
