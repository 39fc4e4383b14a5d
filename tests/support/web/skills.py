"""Published skills, and searches over HTTP."""

from typing import Any

from tests.support.registry import Registry
from tests.support.skills import a_skill

LIST, SEARCH = "/api/v1/skills", "/api/v1/skills/search"


async def publish(registry: Registry, repository: str, skills: dict[str, str]) -> None:
    """Publish skills by name and description."""
    files = {f"skills/{name}/SKILL.md": a_skill(name, description) for name, description in skills.items()}
    registry.github.add_repository(repository, files=files)
    for name in skills:
        await registry.submit(repository, name, f"skills/{name}/SKILL.md")
    await registry.work()


async def found(registry: Registry, q: str, **given: Any) -> list[str]:
    """Return the names a search finds, best first."""
    answer = await registry.client.get(SEARCH, params={"q": q, **given})
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["results"]]
