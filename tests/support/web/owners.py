"""Requests of owners."""

from typing import Any

from tests.support.registry import SECRET, Registry

KEY = {"X-Internal-Key": SECRET}
WHY = {"reason": "It deletes too much."}


async def ask(registry: Registry, name: str, what: str, body: dict[str, Any] | None = WHY, **given: Any) -> Any:
    """Change a listing with the internal key."""
    answer = await registry.client.post(f"/api/v1/skills/{name}/{what}", json=body, headers=KEY, **given)
    assert answer.status_code == 200, answer.text
    return answer.json()
