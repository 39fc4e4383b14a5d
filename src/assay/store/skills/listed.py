"""Listings as lists show them: with the other repositories that have the same content."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, bindparam, literal_column
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.store.skills.skills import SKILLS, skill_of
from assay.store.tables import skill

# So many are named; of content that thousands have, so many are looked at.
MOST_ALTERNATES = 10
MOST_HOLDERS = 200
ALTERNATES = literal_column(
    f"""(
        SELECT jsonb_agg(jsonb_build_array(host, owner, name) ORDER BY stars DESC, since, owner, name) FROM (
            SELECT host, owner, name, max(stars) AS stars, min(created_at) AS since FROM (
                SELECT known.host, known.owner, known.name, coalesce(other.stars, -1) AS stars, other.created_at
                FROM skill_version AS held
                JOIN skill AS other ON other.id = held.skill_id AND other.current_version_id = held.id
                JOIN repository AS known ON known.id = other.repository_id
                WHERE held.content_digest = skill_version.content_digest AND other.standing = 'live'
                    AND other.repository_id <> skill.repository_id
                LIMIT {MOST_HOLDERS}
            ) AS holders GROUP BY host, owner, name ORDER BY 4 DESC, 5, owner, name LIMIT {MOST_ALTERNATES}
        ) AS named
    )""",
    JSONB,
).label("alternates")

_LISTED = SKILLS.add_columns(ALTERNATES).where(skill.c.id == any_(bindparam("ids", type_=ARRAY(Uuid))))


@dataclass(frozen=True)
class Listed:
    """A listing, and the other repositories with the same content: most stars first, then the oldest."""

    skill: Skill
    alternates: tuple[RepositoryName, ...] = ()


async def read_listed(db: AsyncConnection, ids: Sequence[UUID]) -> list[Listed]:
    """These listings, in this order."""
    if not ids:
        return []
    rows = await db.execute(_LISTED, {"ids": list(ids)})
    found = {row.id: _listed(row) for row in rows}
    return [found[each] for each in ids]


def _listed(row: Any) -> Listed:
    others = tuple(RepositoryName(Host(host), owner, name) for host, owner, name in row.alternates or ())
    return Listed(skill_of(row), others)
