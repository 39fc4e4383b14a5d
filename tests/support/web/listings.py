"""A small catalogue, and its lists."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from tests.support.registry import Registry
from tests.support.web.skills import LIST, publish

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def listed(registry: Registry, **given: Any) -> list[str]:
    """Return the names of a list in order."""
    answer = await registry.client.get(LIST, params=given)
    assert answer.status_code == 200, answer.text
    return [each["name"].rpartition("/")[2] for each in answer.json()["skills"]]


async def run(registry: Registry, sql: str, **values: Any) -> None:
    """Execute and commit one statement."""
    async with registry.app.store.begin() as db:
        await db.execute(text(sql), values)


async def a_catalogue(registry: Registry) -> None:
    """Publish four skills of two owners that differ in every filter and order."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents.", "csv": "Reads tables."})
    await publish(registry, "zeta/kit", {"scan": "Reads networks.", "poem": "Writes and reads."})
    facts = {
        "pdf": ("documents", "SCANNED", "T1", ["Office", "files"], 5, 300, 7, 1),
        "csv": ("data", "VERIFIED", "T3", ["files"], None, 200, 9, 2),
        "scan": ("security", "CERTIFIED", "T4", [], 90, 100, 1, 3),
        "poem": ("writing", "SCANNED", "T2", ["office"], 0, 400, 0, 4),
    }
    for slug, (category, tier, trust, labels, stars, installs, trending, age) in facts.items():
        await run(
            registry,
            "UPDATE skill SET category = :category, tier = :tier, trust_tier = :trust, labels = :labels, stars = :stars, "
            "installs = :installs, trending_7d = :trending, created_at = now() - make_interval(days => :age), "
            "updated_at = now() + make_interval(days => :age) WHERE name LIKE '%/' || :slug",
            **{"category": category, "tier": tier, "trust": trust, "labels": labels, "stars": stars},
            **{"installs": installs, "trending": trending, "age": age, "slug": slug},
        )
