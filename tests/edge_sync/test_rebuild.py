"""Rebuild and comparison of the edge copy over HTTP."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from assay.edge.keys import INDEX, STATE, alias_key, skill_key
from assay.edge.kv import Edge
from assay.edge.state import read_rebuild
from assay.edge.values import AliasValue, SkillValue, encode
from assay.edge_sync import rebuild as rebuilding
from assay.edge_sync.drift import read_skills_health
from assay.edge_sync.rebuild import rebuild
from assay.model.errors import Conflict
from assay.settings import Settings
from assay.store.feed.edge_rows import try_lock_rebuild
from assay.store.skills.locks import lock_skill
from assay.store.skills.names import add_alias
from tests.support.edge_copies import Dying, Killed, add_listings, bring_level, expected, meaning_of, publish, take_down
from tests.support.edge_stores import a_listing, keys_of
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry, open_registry

MANY = 3_000
KEY = {"X-Internal-Key": SECRET}
REBUILD_INDEX, HEALTH = "/api/v1/admin/rebuild-index", "/api/v1/admin/health/skills"
HEALTH_FIELDS = {
    "kv_index_count",
    "kv_enumerated_count",
    "prisma_count",
    "seed_count",
    "drift_detected",
    "drifts",
    "recommendations",
}


@pytest.fixture
async def copied(settings: Settings, github: FakeGitHub, edge: Edge, edge_url: str):
    """Return a registry with a copy in each store."""
    async with open_registry(settings.model_copy(update={"edge_url": SecretStr(edge_url)}), github) as registry:
        yield registry


async def post(registry: Registry) -> dict[str, Any]:
    """Request a rebuild."""
    answer = await registry.client.post(REBUILD_INDEX, headers=KEY)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def health(registry: Registry) -> dict[str, Any]:
    """Request a comparison."""
    answer = await registry.client.get(HEALTH, headers=KEY)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def spoil(edge: Edge, puts: dict[str, bytes], deletes: set[str]) -> None:
    """Change the copy directly."""
    serial = await edge.read_serial()
    assert await edge.write(puts, deletes, since=serial, serial=serial)


async def test_rebuild_repairs_lost_wrong_and_surplus_keys(copied: Registry, tmp_path: Path) -> None:
    """G70, G71: with thousands of listings."""
    edge = copied.app.edge
    async with copied.app.store.begin() as db:
        await add_listings(db, MANY)
        await add_alias(db, "flat-slug", (await lock_skill(db, "b/repo-1/skill-1")).id)
    first = await post(copied)
    assert first == {"ok": True, "rebuilt": MANY, "errors": 0, "orphanedAliases": 0, "prismaBackfilled": 0}
    good = await health(copied)
    assert HEALTH_FIELDS <= set(good)
    assert (good["kv_index_count"], good["kv_enumerated_count"], good["prisma_count"]) == (MANY, MANY, MANY)
    assert (good["seed_count"], good["drift_detected"], good["drifts"], good["recommendations"]) == (118, False, [], [])
    steps: list[int] = []
    await read_skills_health(copied.app.store, edge, progress=steps.append)
    assert (sum(steps), max(steps) < MANY) == (2 * MANY, True), "listings and keys, page by page"
    whole = await meaning_of(edge)
    lost = [skill_key("b/repo-1/skill-1"), skill_key("c/repo-2/skill-2")]
    stale = a_listing("d/repo-3/skill-3", 3)
    spoiled = {
        skill_key("d/repo-3/skill-3"): encode(SkillValue(serial=0, skill=stale)),
        skill_key("e/repo-4/skill-4"): b"nonsense",
        skill_key("nobody/here/surplus"): encode(SkillValue(serial=0, skill=a_listing("nobody/here/surplus", 9))),
        alias_key("astray"): encode(AliasValue(serial=0, alias="astray", names=["nobody/here/surplus"])),
    }
    await spoil(edge, spoiled, {*lost, INDEX})
    bad = await health(copied)
    assert bad["drift_detected"]
    kinds = {each["key"]: each["kind"] for each in bad["differences"]}
    assert kinds == {
        **dict.fromkeys(lost, "missing"),
        skill_key("d/repo-3/skill-3"): "stale",
        skill_key("e/repo-4/skill-4"): "unreadable",
        skill_key("nobody/here/surplus"): "extra",
    }
    assert bad["difference_count"] == 5
    assert (bad["kv_index_count"], bad["kv_enumerated_count"]) == (None, MANY - 1)
    assert any("assay rebuild-index" in each for each in bad["recommendations"])
    again = await post(copied)
    assert again["ok"]
    assert (again["rebuilt"], again["orphanedAliases"]) == (MANY, 1)
    assert not (await health(copied))["drift_detected"]
    assert {key: value for key, value in (await meaning_of(edge)).items() if not key.startswith("sub:")} == whole
    assert await keys_of(edge, "copy:") == [STATE]
    trail = await copied.client.get("/api/v1/admin/audit", headers=KEY)
    assert "edge.rebuild" in trail.text


@pytest.mark.process
async def test_listings_known_only_to_the_copy_are_resubmitted(copied: Registry) -> None:
    """G70: after the database was restored."""
    copied.github.add_repository(
        "acme/tools", files={"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\nx\n"}
    )
    serial = 500
    values = {
        skill_key("acme/tools/pdf"): encode(SkillValue(serial=serial, skill=a_listing("acme/tools/pdf", 1))),
    }
    assert await copied.app.edge.write(values, (), since=0, serial=serial)
    done = await post(copied)
    assert done["prismaBackfilled"] == 1
    assert await keys_of(copied.app.edge, "skill:") == []
    assert (await post(copied))["prismaBackfilled"] == 0
    await copied.work()
    await bring_level(copied, copied.app.edge)
    assert await keys_of(copied.app.edge, "skill:") == [skill_key("acme/tools/pdf")]
    detail = (await copied.client.get("/api/v1/skills/acme/tools/pdf")).json()
    assert len(detail["versions"]) == 1
    async with copied.app.store.begin() as db:
        orphans = "SELECT count(*) FROM skill WHERE NOT EXISTS (SELECT FROM skill_version WHERE skill_id = skill.id)"
        assert (await db.execute(text(orphans))).scalar_one() == 0


@pytest.mark.process
async def test_pending_changes_are_no_drift(copied: Registry) -> None:
    """G71: the lag is reported."""
    await publish(copied, "pdf", "csv")
    await bring_level(copied, copied.app.edge)
    await take_down(copied, "acme/tools/csv")
    seen = await health(copied)
    assert seen["difference_count"] == 0
    assert seen["on_their_way"] == 1
    assert seen["projector"]["waiting"] >= 1
    await bring_level(copied, copied.app.edge)
    await post(copied)
    seen = await health(copied)
    assert (seen["on_their_way"], seen["projector"]["waiting"], seen["drift_detected"]) == (0, 0, False)
    metrics = (await copied.client.get("/metrics")).text
    assert "assay_edge_up 1.0" in metrics
    assert "assay_edge_lag_changes 0.0" in metrics


@pytest.mark.process
async def test_killed_rebuild_resumes(copied: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G70."""
    monkeypatch.setattr(rebuilding, "BATCH", 10)
    await publish(copied, "pdf", "csv")
    async with copied.app.store.begin() as db:
        await add_listings(db, 100)
    store, edge, now = copied.app.store, copied.app.edge, copied.app.clock.now
    with pytest.raises(Killed):
        await rebuild(store, Dying(edge, 6, after=True), now)
    left = await read_rebuild(edge)
    assert left is not None
    assert left.rebuilt == 40 + 10
    told = (await health(copied))["rebuild"]
    assert (told["stage"], told["rebuilt"]) == ("listings", 50), "how far it is can be asked for meanwhile"
    await take_down(copied, "acme/tools/pdf")
    seen: list[int] = []
    done = await rebuild(store, edge, now, progress=lambda at: seen.append(at.rebuilt))
    assert seen[0] == 60, "it goes on"
    assert done.rebuilt >= 101
    assert (await health(copied))["rebuild"] is None
    await bring_level(copied, edge)
    assert await meaning_of(edge) == await expected(copied, tmp_path / "fresh")
    with pytest.raises(Killed):
        await rebuild(store, Dying(edge, 6, after=True), now)
    later: list[int] = []
    await rebuild(store, edge, lambda: now() + timedelta(hours=2), progress=lambda at: later.append(at.rebuilt))
    assert later[0] == 10, "one that stopped long ago is begun again"


async def test_concurrent_rebuild_is_rejected(copied: Registry) -> None:
    async with copied.app.store.begin() as db:
        assert await try_lock_rebuild(db, copied.app.edge.identity)
        answer = await copied.client.post(REBUILD_INDEX, headers=KEY)
        assert (answer.status_code, answer.json()["code"]) == (409, "rebuild_under_way")
        with pytest.raises(Conflict):
            await rebuild(copied.app.store, copied.app.edge, copied.app.clock.now)


async def test_publishing_continues_during_a_rebuild(
    copied: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G70."""
    monkeypatch.setattr(rebuilding, "BATCH", 20)
    async with copied.app.store.begin() as db:
        await add_listings(db, 300)

    async def change() -> None:
        for number in range(1, 12):
            await take_down(copied, f"{chr(97 + number % 26)}/repo-{number % 10}/skill-{number}")
            await bring_level(copied, copied.app.edge)

    await post(copied)
    await asyncio.gather(post(copied), change())
    await bring_level(copied, copied.app.edge)
    assert await meaning_of(copied.app.edge) == await expected(copied, tmp_path / "fresh")
    assert len(await keys_of(copied.app.edge, "skill:")) == 289


async def test_unavailable_copy_is_reported(settings: Settings, github: FakeGitHub, tmp_path: Path) -> None:
    """by health and metrics."""
    (tmp_path / "file").write_text("no folder")
    url = SecretStr(f"lmdb:{tmp_path / 'file'}")
    async with open_registry(settings.model_copy(update={"edge_url": url}), github) as registry:
        seen = await health(registry)
        assert (seen["drift_detected"], seen["kv_enumerated_count"], seen["prisma_count"]) == (True, None, 0)
        assert "ASSAY_EDGE_URL" in seen["recommendations"][0]
        assert "assay_edge_up 0.0" in (await registry.client.get("/metrics")).text
        assert (await registry.client.get("/api/v1/skills")).status_code == 200


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_rebuild_and_comparison_require_an_administrator(registry: Registry, method: str) -> None:
    """G77."""
    path = {"POST": REBUILD_INDEX, "GET": HEALTH}[method]
    assert (await registry.client.request(method, path)).status_code == 401
    assert (await registry.client.request(method, path, headers={"X-Internal-Key": "x" * 40})).status_code == 401
