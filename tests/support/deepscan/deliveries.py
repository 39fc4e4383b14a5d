"""A node in the test's own hands: it takes scans and delivers results over HTTP."""

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
class HandNode:
    """A node that does what the test says."""

    registry: Registry
    id: str = field(default_factory=lambda: str(uuid4()))

    async def claim(self, tool: str = "semgrep", limit: int = 50) -> dict[str, Any]:
        """Take scans."""
        body = {"nodeId": self.id, "tool": tool, "limit": limit}
        answer = await self.registry.client.post("/api/v1/internal/claim-sast-scan", headers=ADMIN, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def beat(self, **more: Any) -> dict[str, Any]:
        """Say that it is there."""
        said = {"nodeId": self.id, "name": "hand", "version": "1", "capacity": 10, "tools": {"semgrep": "1.0"}}
        answer = await self.registry.client.post("/api/v1/internal/scan-nodes", headers=ADMIN, json=said | more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def result(self, work: dict[str, Any], place: int = 0, **said: Any) -> dict[str, Any]:
        """What it says of a scan that it has taken: by default that it is clean."""
        scan = work["scans"][place]
        told = {name: scan[name] for name in ("scanId", "contentDigest", "commit", "tool")}
        who = {"deliveryId": uuid4().hex, "nodeId": self.id, "lease": work["lease"], "toolVersion": "1.0"}
        return told | who | {"status": "findings" if said.get("findings") else "clean"} | said

    async def deliver(self, result: Any, *, secret: str = SECRET, ahead: float = 0) -> httpx.Response:
        """Sign it and send it."""
        body = result if isinstance(result, bytes) else msgspec.json.encode(result)
        return await send(self.registry, body, sign(secret, body, _later(self.registry, ahead)))


async def send(registry: Registry, body: bytes, headers: dict[str, str]) -> httpx.Response:
    """A body as it is."""
    return await registry.client.post(RESULTS, content=body, headers={"Content-Type": "application/json", **headers})


async def publish(
    registry: Registry, repository: str = "acme/tools", name: str = "greet", **files: str
) -> dict[str, Any]:
    """A skill in a repository of its own, listed."""
    registry.github.add_repository(repository, files={"SKILL.md": a_skill(name, description=repository), **files})
    await registry.submit(repository, name)
    await registry.work()
    return (await registry.client.get(f"/api/v1/skills/{repository}/{name}")).json()


async def pending(registry: Registry, tool: str = "semgrep") -> list[dict[str, Any]]:
    """What waits for a tool."""
    answer = await registry.client.get("/api/v1/internal/pending-sast-scans", headers=ADMIN, params={"tool": tool})
    assert answer.status_code == 200, answer.text
    return answer.json()["scans"]


def _later(registry: Registry, seconds: float) -> Any:
    return registry.app.clock.now() + timedelta(seconds=seconds)
