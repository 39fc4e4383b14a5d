"""How large the catalogue is, beyond what is counted as it changes."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SIZES = text(
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


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of live listings: versions that may be used, repositories, authors, and installs."""

    versions: int
    repositories: int
    authors: int
    installs: int
    installs_7d: int
    installs_30d: int


async def read_sizes(db: AsyncConnection) -> Sizes:
    """All of the same moment."""
    return Sizes(*map(int, (await db.execute(SIZES)).one()))
