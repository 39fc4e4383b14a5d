"""A published skill turns out to be malicious and is withdrawn everywhere."""

from typing import Any

import pytest

from tests.support.deepscan.deliveries import CRITICAL, ManualNode, publish
from tests.support.edge_copies import bring_level, contents_of
from tests.support.edge_stores import edge, edge_url, redis_server
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.streams import reading, serving
from tests.support.web.people import audit_of

pytestmark = pytest.mark.process

__all__ = ["edge", "edge_url", "redis_server"]


async def feed(registry: Registry) -> list[dict[str, Any]]:
    """Return the change feed."""
    return (await registry.client.get("/api/v1/changes")).json()["changes"]


async def find_out(registry: Registry) -> dict[str, Any]:
    """Deliver a confirmed critical finding from a scan node."""
    node = ManualNode(registry)
    work = await node.claim()
    answer = await node.deliver(node.result(work, findings=[CRITICAL], position=len(work["scans"]) - 1))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_confirmed_critical_finding_withdraws_the_skill_everywhere(registry: Registry, edge: Any) -> None:
    """G49: API, search, edge copy, feed, page and queue agree, with the reason."""
    served = await publish(registry)
    twin = await publish(registry, "umbrella/other", "other")
    await bring_level(registry, edge)
    assert any(key.startswith("skill:acme/tools/greet") for key in await contents_of(edge))
    node = ManualNode(registry)
    work = await node.claim()
    [mine] = [
        place for place, scan in enumerate(work["scans"]) if scan["contentDigest"] == served["skill"]["contentDigest"]
    ]
    answer = await node.deliver(node.result(work, mine, findings=[CRITICAL]))
    assert answer.json()["withdrawn"] == ["acme/tools/greet"]

    gone = await registry.client.get("/api/v1/skills/acme/tools/greet")
    assert gone.status_code == 410
    assert "semgrep found assay.python.remote-code in scripts/run.py, line 3" in gone.json()["detail"]
    assert (await registry.client.get("/api/v1/skills/acme/tools/greet/versions/1.0.0/download")).status_code == 410
    hits = (await registry.client.get("/api/v1/skills/search", params={"q": "greet"})).json()["results"]
    assert [hit["name"] for hit in hits if not hit.get("isBlocked")] == []
    listed = (await registry.client.get("/api/v1/skills")).json()["skills"]
    assert [skill["name"] for skill in listed] == [twin["skill"]["name"]]
    page = await registry.client.get("/skills/acme/tools/greet", headers={"Accept": "text/html"})
    assert page.status_code == 410
    assert "remote-code" in page.text
    security = (await registry.client.get("/api/v1/skills/acme/tools/greet/security")).json()
    assert security["overallVerdict"] == "FAIL"

    await bring_level(registry, edge)
    kept = await contents_of(edge)
    assert not any(key.startswith("skill:acme/tools/greet") for key in kept)
    kinds = [change["kind"] for change in await feed(registry)]
    assert {"withdraw", "tombstone", "block"} <= set(kinds)
    blocked = (await registry.client.get("/api/v1/blocklist")).json()
    assert served["skill"]["contentDigest"] in str(blocked)
    assert [event[2] for event in await audit_of(registry.app, "deep_scan_confirmed")] == [
        served["skill"]["contentDigest"]
    ]

    registry.github.add_repository("late/copy", files={"SKILL.md": a_skill("greet", description="acme/tools")})
    late = await registry.submit("late/copy", "greet")
    await registry.work()
    assert (await registry.read(late["id"]))["state"] == "BLOCKED", "the same bytes under another name"


async def test_deep_scan_withdraws_only_the_affected_version(registry: Registry) -> None:
    """G49, G52: subscribers are notified."""
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    node = ManualNode(registry)
    await node.deliver(node.result(await node.claim()))
    repository.push({"SKILL.md": a_skill("greet", description="Now with more.")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    assert (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]["currentVersion"] == "1.0.1"
    found_out = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]["contentDigest"]
    async with serving(registry.app) as url, reading(url, "/api/v1/changes/stream") as everybody:
        await find_out(registry)
        told = []
        while {"withdraw", "block"} - {event.data["kind"] for event in told}:
            told.append(await everybody.next())
    assert {event.name for event in told} == {"catalogue_changed"}
    withdrawn = next(event.data["data"] for event in told if event.data["kind"] == "withdraw")
    assert (withdrawn["name"], withdrawn["version"]) == ("acme/tools/greet", "1.0.1")
    assert found_out in str((await registry.client.get("/api/v1/blocklist")).json())
    served = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert served["skill"]["currentVersion"] == "1.0.0"
    assert {each["version"]: each["status"] for each in served["versions"]} == {"1.0.1": "withdrawn", "1.0.0": "live"}


async def test_unconfirmed_finding_withdraws_nothing(registry: Registry) -> None:
    """G49: it is shown."""
    await publish(registry)
    node = ManualNode(registry)
    doubtful = [CRITICAL | {"confidence": 0.89}, CRITICAL | {"severity": "high", "confidence": 1.0}]
    answer = await node.deliver(node.result(await node.claim(), findings=doubtful))
    assert answer.json()["withdrawn"] == []
    assert (await registry.client.get("/api/v1/skills/acme/tools/greet")).status_code == 200
