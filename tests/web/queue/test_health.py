"""`/api/v1/queue/health`, the stuck list and the metrics agree."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml
from sqlalchemy import text

from assay.model.submission import State
from assay.runtime.heartbeat import heartbeat
from assay.serve.operations.alarm import AlarmCode
from assay.serve.operations.alarms import WATCH
from assay.store.operations.periodic_jobs import record_failure
from assay.store.queue.pauses import start_pause
from tests.support.backlog import Row, add_rows
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository
from tests.support.web.metrics import series
from tests.support.web.queue_health import chores_of, codes, do_all_chores, health_of, reader

ROOT = Path(__file__).parents[3]
ADMIN = {"X-Internal-Key": SECRET}
STUCK = "/api/v1/admin/queue/stuck"


@pytest.mark.process
async def test_working_queue_is_healthy(registry: Registry) -> None:
    """G8, G93: processes, periodic jobs, stages and drain rate, without alarms."""
    app = registry.app
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    async with heartbeat(app.store, "worker", lambda: 3):
        await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
        await registry.submit("acme/tools", "csv", "skills/csv/SKILL.md")
        await do_all_chores(app)
        health = await health_of(app)
    assert (health["degraded"], health["alarms"]) == (False, [])
    assert health["waiting"] == 1
    assert health["oldestWaiting"]["state"] == health["oldestActive"]["state"] == "RECEIVED"
    assert health["oldestWaiting"]["id"] == health["oldestActive"]["id"]
    assert health["stuck"] == {"count": 0, "countIsExact": True, "oldest": None}
    assert health["orphaned"] == {"count": 0, "countIsExact": True, "oldestId": None, "oldestUpdatedAt": None}
    assert health["corrupt"] == {"count": 0, "countIsExact": True, "jobIds": []}
    assert health["drainRate"] == {"last1h": 1, "last6h": 1, "perSecond": pytest.approx(1 / 21600)}
    stages = {each["stage"]: (each["last1h"], each["last6h"]) for each in health["stages"]}
    assert stages == {
        "fetched": (1, 1),
        "judged": (1, 1),
        "published": (1, 1),
        "review": (0, 0),
        "refused": (0, 0),
        "failed": (0, 0),
    }
    [process] = health["processes"]
    assert (process["kind"], process["alive"], process["inFlight"]) == ("worker", True, 3)
    assert {chore["name"] for chore in health["chores"]} == set(chores_of(app))
    assert all(chore["lastSuccessAt"] and not chore["overdue"] for chore in health["chores"])
    assert health["paused"] is None


async def test_public_health_names_no_host_and_no_error(registry: Registry) -> None:
    """No host, process id or error text."""
    app = registry.app
    chore = chores_of(app)["fold counts"]
    async with app.store.begin() as db:
        await db.execute(
            text(
                "INSERT INTO process (id, kind, host, pid, version) "
                "VALUES (gen_random_uuid(), 'worker', 'machine-of-ada', 4711, '1')"
            )
        )
        for _ in range(3):
            await record_failure(db, chore.schedule, "password of the database", 1)
    async with reader(app) as client:
        for path in ("/api/v1/queue/health", "/metrics"):
            body = (await client.get(path)).text
            assert "worker" in body
            for secret in ("machine-of-ada", "4711", "password of"):
                assert secret not in body


async def test_missing_worker_raises_an_alarm(registry: Registry) -> None:
    """G93: something is waiting and no worker has been seen for 30 seconds."""
    app = registry.app
    async with heartbeat(app.store, "worker"):
        await do_all_chores(app)
        await registry.submit("acme/tools", "pdf")
        assert codes(await health_of(app)) == []
        later = await health_of(app, timedelta(seconds=40))
    assert later["degraded"]
    first, *others = codes(later)
    assert first == "no_worker"
    assert all(code.startswith("chore_overdue:") for code in others), "nobody does the chores either"
    assert not later["processes"][0]["alive"]
    assert later["alarms"][0]["since"] == later["processes"][0]["seenAt"]


async def test_failing_periodic_job_is_visible_in_health_and_metrics(registry: Registry) -> None:
    """G31."""
    app = registry.app
    await do_all_chores(app)
    fold, number = chores_of(app)["fold counts"], chores_of(app)["number changes"]
    async with app.store.begin() as db:
        for _ in range(2):
            await record_failure(db, fold.schedule, "ValueError: a bug", 1)
    # One interval plus the time limit of one periodic job, but not yet of the other.
    later = timedelta(seconds=21)
    health = await health_of(app, later)
    assert codes(health) == ["chore_overdue:number changes", "chore_failing:fold counts"]
    shown = {chore["name"]: chore for chore in health["chores"]}
    assert (shown[fold.name]["failures"], shown[fold.name]["overdue"]) == (2, False)
    assert (shown[number.name]["failures"], shown[number.name]["overdue"]) == (0, True)
    async with reader(app, later) as client:
        metrics = (await client.get("/metrics")).text
    assert series(metrics, "assay_chore_failures")['chore="fold counts"'] == 2
    assert series(metrics, "assay_chore_overdue")['chore="number changes"'] == 1
    last = series(metrics, "assay_chore_last_success_timestamp_seconds")
    assert last['chore="number changes"'] == pytest.approx(
        datetime.fromisoformat(shown[number.name]["lastSuccessAt"]).timestamp()
    )


async def test_missing_watcher_is_reported_by_any_reader(registry: Registry) -> None:
    """G93: the detector cannot report its own failure."""
    app = registry.app
    assert codes(await health_of(app)) == ["detector_blind"]
    await do_all_chores(app)
    assert codes(await health_of(app)) == []
    assert "detector_blind" in codes(await health_of(app, timedelta(minutes=2)))
    [watching] = [chore for chore in (await health_of(app))["chores"] if chore["name"] == WATCH]
    assert not watching["overdue"]


async def test_pause_is_shown_but_is_no_problem(registry: Registry) -> None:
    """G27: with reason and end."""
    app = registry.app
    await do_all_chores(app)
    async with app.store.begin() as db:
        pause = await start_pause(db, reason="moving house", by="ada", seconds=600)
    health = await health_of(app)
    assert (codes(health), health["degraded"]) == (["paused"], False)
    assert health["paused"]["reason"] == "moving house"
    assert datetime.fromisoformat(health["paused"]["until"]) == pause.expires_at
    assert "ada" not in str(health)


async def test_metrics_and_health_agree(registry: Registry) -> None:
    """G12: every alarm code has a series, also when inactive."""
    app = registry.app
    now = app.clock.now()
    rows = [Row(age_seconds=4000, job=None), Row(age_seconds=30), Row(State.TIER1_SCANNING, 600, lease_seconds=-5)]
    async with app.store.begin() as db:
        await add_rows(db, rows, now)
    health = await health_of(app)
    metrics = (await registry.client.get("/metrics")).text
    assert series(metrics, "assay_waiting") == {"": health["waiting"]} == {"": 2}
    assert series(metrics, "assay_stuck") == {"": health["stuck"]["count"]} == {"": 2}
    assert series(metrics, "assay_orphaned") == {"": health["orphaned"]["count"]} == {"": 1}
    assert series(metrics, "assay_oldest_waiting_seconds")[""] >= 4000
    assert health["oldestWaiting"]["ageMs"] >= 4_000_000
    assert (health["stuck"]["oldest"]["id"], health["orphaned"]["oldestId"]) == (str(rows[0].id), str(rows[0].id))
    raised = codes(health)
    assert raised == ["no_worker", "oldest_waiting", "stuck", "orphans", "detector_blind"]
    assert series(metrics, "assay_alarm") == {f'code="{code}"': raised.count(code) for code in AlarmCode}
    assert series(metrics, "assay_decided_last_hour") == {"": health["drainRate"]["last1h"]}


async def test_stuck_list(registry: Registry) -> None:
    """G26: exact fields, paged, administrators only."""
    app = registry.app
    now = app.clock.now()
    rows = [Row(age_seconds=4000), Row(State.TIER1_SCANNING, 900, lease_seconds=-5, job="picked"), Row(age_seconds=1)]
    async with app.store.begin() as db:
        await add_rows(db, rows, now)
    assert (await registry.client.get(STUCK)).status_code == 401
    first = (await registry.client.get(STUCK, params={"limit": 1}, headers=ADMIN)).json()
    [stuck] = first["stuck"]
    assert set(stuck) == {"id", "state", "repoUrl", "skillName", "skillPath", "updatedAt", "stuckForMs", "why"}
    assert (stuck["id"], stuck["state"], stuck["why"]) == (str(rows[0].id), "RECEIVED", "waiting")
    assert stuck["repoUrl"].startswith(f"{registry.web_url}/acme/tools")
    assert 4_000_000 <= stuck["stuckForMs"] < 4_100_000
    params = {"limit": 1, "cursor": first["nextCursor"]}
    second = (await registry.client.get(STUCK, params=params, headers=ADMIN)).json()
    assert [(each["id"], each["why"]) for each in second["stuck"]] == [(str(rows[1].id), "lease_expired")]
    assert second["nextCursor"] is None
    for bad in ({"limit": 0}, {"cursor": "nonsense"}, {"state": "RECEIVED"}):
        assert (await registry.client.get(STUCK, params=bad, headers=ADMIN)).status_code == 400


async def test_waiting_has_its_own_stuck_threshold(registry: Registry) -> None:
    """G26: `ASSAY_STUCK_RECEIVED_SECONDS` for waiting submissions, `ASSAY_STUCK_SECONDS` for claimed ones."""
    chosen = registry.app.settings.model_copy(update={"stuck_received_seconds": 7200})
    app = replace(registry.app, settings=chosen)
    scanning, waiting = Row(State.TIER1_SCANNING, 301, job="picked"), Row(age_seconds=7100)
    async with app.store.begin() as db:
        await add_rows(db, [scanning, waiting], app.clock.now())
    async with reader(app) as client:
        found = (await client.get(STUCK, headers=ADMIN)).json()["stuck"]
    assert [each["id"] for each in found] == [str(scanning.id)]
    async with reader(registry.app) as client:
        found = (await client.get(STUCK, headers=ADMIN)).json()["stuck"]
    assert {each["id"] for each in found} == {str(scanning.id), str(waiting.id)}


async def test_documented_metrics_are_served(registry: Registry) -> None:
    """G102: the documentation lists all metrics, and its alert rules use existing ones."""
    app = registry.app
    async with heartbeat(app.store, "worker"):
        await do_all_chores(app)
        metrics = (await registry.client.get("/metrics")).text
    served = set(re.findall(r"^# TYPE (assay_\w+) gauge", metrics, re.MULTILINE)) - {"assay_listeners"}
    manual = (ROOT / "docs" / "operations.md").read_text()
    table = "\n".join(line for line in manual.splitlines() if line.startswith("| `assay_"))
    assert set(re.findall(r"`(assay_\w+)[{`]", table)) == served
    [rules] = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", manual, re.DOTALL)]
    expressions = " ".join(rule["expr"] for group in rules["groups"] for rule in group["rules"])
    assert set(re.findall(r"assay_\w+", expressions)) <= served
    named = {code for codes in re.findall(r'code[=!]~"([\w|]+)"', expressions) for code in codes.split("|")}
    assert named <= set(AlarmCode)
