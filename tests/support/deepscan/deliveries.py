"""A scan node controlled by the test: it claims scans and delivers results over HTTP."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import msgspec

from assay.deepscan.signature import sign
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill

ADMIN = {"X-Internal-Key": SECRET}
RESULTS = "/api/v1/webhooks/scan-results"
CRITICAL = {
    "ruleId": "assay.python.remote-code",
    "family": "remote-code",
    "severity": "critical",
    "confidence": 0.95,
    "file": "scripts/run.py",
    "line": 3,
    "excerpt": "exec(code)",
    "message": "What comes from the network is run as a program.",
    "remediation": "Remove it.",
}


@dataclass
class ManualNode:
    """A scan node whose steps the test calls."""

    registry: Registry
    id: str = field(default_factory=lambda: str(uuid4()))

    async def claim(self, tool: str = "semgrep", limit: int = 50) -> dict[str, Any]:
        body = {"nodeId": self.id, "tool": tool, "limit": limit}
        answer = await self.registry.client.post("/api/v1/internal/claim-sast-scan", headers=ADMIN, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def register(self, **more: Any) -> dict[str, Any]:
        body = {"nodeId": self.id, "name": "hand", "version": "1", "capacity": 10, "tools": {"semgrep": "1.0"}}
        answer = await self.registry.client.post("/api/v1/internal/scan-nodes", headers=ADMIN, json=body | more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def result(self, work: dict[str, Any], position: int = 0, **fields: Any) -> dict[str, Any]:
        """Build the result of a claimed scan, by default a clean one."""
        scan = work["scans"][position]
        identity = {name: scan[name] for name in ("scanId", "contentDigest", "commit", "tool")}
        delivery = {"deliveryId": uuid4().hex, "nodeId": self.id, "lease": work["lease"], "toolVersion": "1.0"}
        return identity | delivery | {"status": "findings" if fields.get("findings") else "clean"} | fields

    async def deliver(self, result: Any, *, secret: str = SECRET, ahead: float = 0) -> httpx.Response:
        """Sign a result and send it; `ahead` shifts the timestamp by seconds."""
        body = result if isinstance(result, bytes) else msgspec.json.encode(result)
        return await send(self.registry, body, sign(secret, body, _later(self.registry, ahead)))


async def send(registry: Registry, body: bytes, headers: dict[str, str]) -> httpx.Response:
    """Send a raw body to the webhook."""
    return await registry.client.post(RESULTS, content=body, headers={"Content-Type": "application/json", **headers})


async def publish(
    registry: Registry, repository: str = "acme/tools", name: str = "greet", **files: str
) -> dict[str, Any]:
    """Publish a skill in a new repository; return its listing."""
    registry.github.add_repository(repository, files={"SKILL.md": a_skill(name, description=repository), **files})
    await registry.submit(repository, name)
    await registry.work()
    return (await registry.client.get(f"/api/v1/skills/{repository}/{name}")).json()


async def list_pending(registry: Registry, tool: str = "semgrep") -> list[dict[str, Any]]:
    """Return the scans that wait for a tool."""
    answer = await registry.client.get("/api/v1/internal/pending-sast-scans", headers=ADMIN, params={"tool": tool})
    assert answer.status_code == 200, answer.text
    return answer.json()["scans"]


def _later(registry: Registry, seconds: float) -> Any:
    return registry.app.clock.now() + timedelta(seconds=seconds)
