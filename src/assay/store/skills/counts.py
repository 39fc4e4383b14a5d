"""The size of the catalogue, and the counters of live listings by category and tier."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SIZE = text(
    """
    SELECT
        (
            SELECT count(*) FROM skill_version JOIN skill ON skill.id = skill_version.skill_id
            WHERE skill.standing = 'live' AND skill_version.status = 'live'
        ),
        count(DISTINCT repository_id), count(DISTINCT lower(author)),
        coalesce(sum(installs), 0), coalesce(sum(trending_7d), 0), coalesce(sum(trending_30d), 0)
    FROM skill WHERE standing = 'live'
    """
)


# Replaces many rows by one for each counter; the sums do not change.
FOLD = text(
    """
    WITH taken AS (
        DELETE FROM skill_count
        WHERE id IN (SELECT id FROM skill_count ORDER BY id LIMIT :at_most)
            AND (SELECT count(*) FROM (SELECT FROM skill_count LIMIT :enough) AS few) >= :enough
        RETURNING facet, value, number
    )
    INSERT INTO skill_count (facet, value, number)
    SELECT facet, value, sum(number) FROM taken GROUP BY facet, value HAVING sum(number) <> 0
    """
)
# Folding fewer rows than this is not worthwhile.
FOLD_FROM = 64
FOLD_AT_MOST = 50_000
BY_FACET = text("SELECT value, sum(number) FROM skill_count WHERE facet = :facet GROUP BY value")
FACETS = text("SELECT facet, value, sum(number) FROM skill_count GROUP BY facet, value")
CORRECT = text(
    """
    WITH counted AS (
        SELECT facet, value, sum(number) AS number FROM skill_count GROUP BY facet, value
    ), truth AS (
        SELECT facet, value, count(*) AS number FROM skill
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        WHERE standing = 'live' GROUP BY facet, value
    )
    INSERT INTO skill_count (facet, value, number)
    SELECT facet, value, coalesce(truth.number, 0) - coalesce(counted.number, 0)
    FROM truth FULL JOIN counted USING (facet, value)
    WHERE coalesce(truth.number, 0) <> coalesce(counted.number, 0)
    RETURNING facet, value, number
    """
)


@dataclass(frozen=True, slots=True)
class CatalogueSize:
    """Numbers of live versions, repositories, authors and installs of live listings."""

    versions: int
    repositories: int
    authors: int
    installs: int
    installs_7d: int
    installs_30d: int


async def read_catalogue_size(db: AsyncConnection) -> CatalogueSize:
    return CatalogueSize(*map(int, (await db.execute(SIZE)).one()))


async def count_skills(db: AsyncConnection) -> int:
    return (await count_by_facet(db, "all")).get("", 0)


async def count_by_facet(db: AsyncConnection, facet: Literal["all", "category", "tier"]) -> Mapping[str, int]:
    """Count live listings by one facet; values without any are left out."""
    rows = await db.execute(BY_FACET, {"facet": facet})
    return {value: int(number) for value, number in rows if number}


async def count_facets(db: AsyncConnection) -> Mapping[str, Mapping[str, int]]:
    """Count live listings by facet and value."""
    counted: dict[str, dict[str, int]] = {"all": {}, "category": {}, "tier": {}}
    for facet, value, number in await db.execute(FACETS):
        if number:
            counted[facet][value] = int(number)
    return counted


async def fold_skill_counts(db: AsyncConnection) -> None:
    """Merge the rows of the counters; the sums stay the same."""
    await db.execute(FOLD, {"at_most": FOLD_AT_MOST, "enough": FOLD_FROM})


async def correct_skill_counts(db: AsyncConnection) -> dict[str, int]:
    """Recount all live listings and correct the counters. Returns the correction for each counter that was wrong."""
    corrections = {}
    for facet, value, number in await db.execute(CORRECT):
        corrections["skills" if facet == "all" else f"skills of {facet} {value}"] = int(number)
    return corrections
