"""Replaying and activating another ruleset."""

from dataclasses import replace
from importlib import resources

import pytest
from sqlalchemy import text

from assay.app.maintenance import open_replay, open_rescanner
from assay.maintenance.replay_ruleset import FIND_STALE, find_stale_verdicts
from assay.runtime.periodic import run_periodic_job
from assay.scan.ruleset import VOCABULARY, load_ruleset, parse_ruleset
from assay.scan_pool.pool import ScanPoolOptions, open_scan_pool
from assay.store.operations.periodic_jobs import register_periodic_jobs
from tests.support.registry import SECRET, Registry
from tests.support.rulesets import HOUSE
from tests.support.skills import a_skill
from tests.support.web.queue_health import chores_of

pytestmark = pytest.mark.process

KEY = {"X-Internal-Key": SECRET}


def house(severity: str) -> dict[str, str]:
    """Return a ruleset with one more rule, without the slow pattern families."""
    shipped = resources.files("assay.scan").joinpath("rules")
    texts = {each.name: each.read_text("utf-8") for each in shipped.iterdir() if each.name.endswith(".toml")}
    texts = {name: text for name, text in texts.items() if "\ncheck = " in text or name == VOCABULARY}
    return texts | {"house.toml": HOUSE.format(severity=severity)}


async def publish_two(registry: Registry) -> None:
    """Publish two harmless skills, one of which the new rule matches."""
    mirror = a_skill("mirror", body="Packages are at mirror.example.com.")
    registry.github.add_repository(
        "acme/tools", files={"skills/mirror/SKILL.md": mirror, "skills/plain/SKILL.md": a_skill("plain")}
    )
    for name in ("mirror", "plain"):
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.work()


async def test_replay_reports_changes_before_activation(registry: Registry) -> None:
    """in parts, resumable, without changing anything."""
    await publish_two(registry)
    scanned, after, calls = 0, None, 0
    while calls == 0 or after:
        body = {"files": house("critical"), "limit": 1, "after": after}
        answer = await registry.client.post("/api/v1/admin/replay", json=body, headers=KEY)
        assert answer.status_code == 200, answer.text
        scanned, after, calls = scanned + answer.json()["scanned"], answer.json()["after"], calls + 1
    assert scanned == 2
    version = answer.json()["ruleset"]
    again = await registry.client.post("/api/v1/admin/replay", json={"files": house("critical")}, headers=KEY)
    assert again.json() == {"ruleset": version, "scanned": 0, "unreadable": 0, "after": None}
    told = await registry.client.get("/api/v1/admin/replay", params={"ruleset": version}, headers=KEY)
    [flip] = told.json()["flips"]
    assert (flip["name"], flip["newDecision"]) == ("acme/tools/mirror", "refuse")
    assert "HR-001 in SKILL.md line 8" in flip["reason"]
    listed = (await registry.client.get("/api/v1/skills")).json()
    assert listed["total"] == 2
    assert (await registry.client.post("/api/v1/admin/replay", json={})).status_code == 401
    wrong = await registry.client.post("/api/v1/admin/replay", json={"files": {"a.toml": "x"}}, headers=KEY)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_rule")
    assert (await registry.client.get("/api/v1/admin/replay?ruleset=%00", headers=KEY)).status_code == 400


async def test_replay_of_the_current_ruleset_changes_nothing(registry: Registry) -> None:
    await publish_two(registry)
    seen = []
    done = await open_replay(registry.app).run(load_ruleset(), progress=seen.append)
    assert (done.scanned, done.unreadable, done.after, sum(seen)) == (2, 0, None, 2)
    answer = await registry.client.get("/api/v1/admin/replay", params={"ruleset": load_ruleset().version}, headers=KEY)
    assert answer.json()["flips"] == []


async def test_stale_verdicts_are_rescanned_while_versions_stay(
    registry: Registry,
) -> None:
    await publish_two(registry)
    async with registry.app.store.begin() as db:
        # Everything was published by rules that are no longer active.
        await db.execute(text("UPDATE scan SET ruleset = 'sha256:old'"))
    about = "/api/v1/skills/acme/tools/plain/versions/latest/report"
    assert [scan["stale"] for scan in (await registry.client.get(about)).json()["scans"]] == [True]
    calls = registry.github.count_api()
    chore = chores_of(registry.app)[FIND_STALE]
    async with registry.app.store.begin() as db:
        await register_periodic_jobs(db, [chore.schedule])
    assert (await run_periodic_job(registry.app.store, chore)).amount == 2
    async with registry.app.store.begin() as db:
        assert await find_stale_verdicts(db, load_ruleset().version) == 0
    looking = open_rescanner(registry.app, registry.tools)
    assert await looking.run_batch() == 2
    newest = (await registry.client.get(about)).json()["scans"][0]
    assert (newest["stale"], newest["ruleset"]) == (False, load_ruleset().version)
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 2
    assert registry.github.count_api() == calls


async def test_version_refused_by_new_rules_is_yanked(registry: Registry) -> None:
    """reversibly, with the reason."""
    await publish_two(registry)
    rules = parse_ruleset(house("critical"))
    async with registry.app.store.begin() as db:
        await register_periodic_jobs(db, [each.schedule for each in chores_of(registry.app).values()])
        assert await find_stale_verdicts(db, rules.version) == 2

    async with open_scan_pool(ScanPoolOptions(1), rules) as scanners:
        looking = open_rescanner(registry.app, registry.tools)
        await replace(looking, ruleset=rules.version, scanners=scanners).run_batch()
    listed = (await registry.client.get("/api/v1/skills")).json()["skills"]
    assert [each["name"] for each in listed] == ["acme/tools/plain"]
    exact = (await registry.client.get("/api/v1/skills/acme/tools/mirror/versions/1.0.0")).json()
    assert (exact["status"], exact["reason"]["code"]) == ("yanked", "tier1_findings")
