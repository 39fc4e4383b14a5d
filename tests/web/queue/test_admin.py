"""Queue administration over HTTP: actor, outcome, rejections."""

from typing import Any

import httpx
import pytest

from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository

QUEUE = "/api/v1/admin/queue"
NOBODY = "01a1e000-0000-7000-8000-000000000000"
KEY = {"X-Internal-Key": SECRET}


async def post(registry: Registry, verb: str, body: dict[str, Any]) -> httpx.Response:
    """Send a request as an administrator."""
    return await registry.client.post(f"{QUEUE}/{verb}", json=body, headers=KEY)


@pytest.mark.process
async def test_hold_dequeue_and_requeue(registry: Registry) -> None:
    """G28: each response lists changed, unchanged and unknown submissions."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    number = (await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md"))["id"]
    held = (await post(registry, "hold", {"ids": [number, NOBODY], "reason": "wait"})).json()
    assert (held["changed"], held["missing"]) == ([number], [NOBODY])
    again = (await post(registry, "hold", {"ids": [number], "reason": "wait"})).json()
    assert again["skipped"] == [{"id": number, "state": "ON_HOLD"}]
    out = (await post(registry, "dequeue", {"ids": [number], "reason": "no"})).json()
    assert out["changed"] == [number]
    back = (await post(registry, "requeue", {"ids": [number], "reason": "yes"})).json()
    assert back["changed"] == [number]
    await registry.work()
    detail = await registry.read(number)
    assert detail["state"] == "PUBLISHED"
    assert [event["trigger"] for event in detail["stateHistory"]][:4] == ["submitted", "held", "dequeued", "requeued"]
    trail = (await registry.client.get("/api/v1/admin/audit", headers=KEY)).json()
    assert {each["actor"] for each in trail["events"]} == {"internal key"}
    assert [each["action"] for each in trail["events"]] == [
        "submission_requeued",
        "submission_dequeued",
        "submission_held",
    ]


async def test_pause_and_resume(registry: Registry) -> None:
    """G27: health shows who paused, why and until when."""
    paused = (await post(registry, "pause", {"reason": "maintenance", "ttlSeconds": 60})).json()
    assert (paused["reason"], paused["pausedBy"]) == ("maintenance", "internal key")
    health = (await registry.client.get("/api/v1/queue/health")).json()
    assert health["paused"]["reason"] == "maintenance"
    ended = (await registry.client.delete(f"{QUEUE}/pause", headers=KEY)).json()
    assert ended["ended"]["reason"] == "maintenance"
    assert (await registry.client.delete(f"{QUEUE}/pause", headers=KEY)).json() == {"ended": None}
    assert (await registry.client.get("/api/v1/queue/health")).json()["paused"] is None


async def test_moving_to_the_front_changes_the_position(registry: Registry) -> None:
    ids = [(await registry.submit("acme/tools", f"skill-{number}"))["id"] for number in range(3)]
    assert (await post(registry, "order", {"ids": [ids[2]], "position": "front"})).json()["changed"] == [ids[2]]
    assert [(await registry.read(each))["position"] for each in ids] == [2, 3, 1]


async def test_reprocess_dry_run_changes_nothing(registry: Registry) -> None:
    """G7."""
    for number in range(3):
        await registry.submit("acme/gone", f"skill-{number}")
    await registry.submit("acme/other", "skill")
    await registry.work()
    url = f"{registry.web_url}/Acme/GONE.git"
    body = {"states": ["REJECTED"], "reason": "fixed", "repoUrl": url, "dryRun": True}
    dry = (await post(registry, "reprocess", body)).json()
    assert (dry["matched"], dry["requeued"], dry["remaining"]) == ({"REJECTED": 3}, 0, 3)
    done = (await post(registry, "reprocess", body | {"dryRun": False, "before": dry["before"]})).json()
    assert (done["requeued"], done["remaining"]) == (3, 0)
    nowhere = body | {"repoUrl": f"{registry.web_url}/nobody/nothing"}
    assert (await post(registry, "reprocess", nowhere)).json()["matched"] == {}


@pytest.mark.parametrize(
    ("verb", "body", "named"),
    [
        ("pause", {"reason": ""}, "reason"),
        ("pause", {}, "reason"),
        ("pause", {"reason": "x", "ttlSeconds": 0}, "ttlSeconds"),
        ("pause", {"reason": "x", "ttlSeconds": 86_401}, "ttlSeconds"),
        ("hold", {"ids": [], "reason": "x"}, "ids"),
        ("hold", {"ids": [NOBODY]}, "reason"),
        ("hold", {"ids": ["nonsense"], "reason": "x"}, "ids"),
        ("dequeue", {"ids": [NOBODY] * 1001, "reason": "x"}, "ids"),
        ("order", {"ids": [NOBODY], "position": "middle"}, "position"),
        ("reprocess", {"states": [], "reason": "x"}, "states"),
        ("reprocess", {"states": ["RECEIVED"], "reason": "x"}, "states"),
        ("reprocess", {"states": ["FAILED"], "reason": "x", "limit": 1001}, "limit"),
        ("reprocess", {"states": ["FAILED"], "reason": "x", "before": "2026-01-01T00:00:00"}, "before"),
    ],
)
async def test_invalid_request_names_the_field(registry: Registry, verb: str, body: dict[str, Any], named: str) -> None:
    """G59."""
    answer = await post(registry, verb, body)
    assert (answer.status_code, named in answer.json()["detail"]) == (400, True), answer.text
