"""Forks: listings with the same content. The first is canonical, the others are its alternates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, any_, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.store.skills.skills import IS_LIVE, SKILLS, skill_of
from assay.store.tables import repository, skill, skill_version

# Maximum number of forks returned for the same content, including the canonical one.
MAX_FORKS = 20
_RANK = func.row_number().over(
    partition_by=skill_version.c.content_digest,
    order_by=(skill.c.stars.desc().nulls_last(), skill.c.created_at, skill.c.id),
)
_JOINED = skill_version.join(
    skill, and_(skill.c.current_version_id == skill_version.c.id, skill.c.id == skill_version.c.skill_id)
).join(repository, skill.c.repository_id == repository.c.id)
_RANKED = (
    select(
        skill_version.c.content_digest,
        skill.c.name,
        repository.c.host,
        repository.c.owner,
        repository.c.name.label("repository_name"),
        skill.c.stars,
        _RANK.label("place"),
    )
    .select_from(_JOINED)
    .where(IS_LIVE, skill_version.c.content_digest == any_(bindparam("digests", type_=ARRAY(Text))))
    .subquery()
)
_FORKS = select(_RANKED).where(_RANKED.c.place <= MAX_FORKS).order_by(_RANKED.c.content_digest, _RANKED.c.place)


# Maximum alternates returned, and maximum listings compared to find them.
MAX_ALTERNATES = 10
MAX_COMPARED = 200
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
                LIMIT {MAX_COMPARED}
            ) AS holders GROUP BY host, owner, name ORDER BY 4 DESC, 5, owner, name LIMIT {MAX_ALTERNATES}
        ) AS named
    )""",
    JSONB,
).label("alternates")
_WITH_FORKS = SKILLS.add_columns(ALTERNATES).where(skill.c.id == any_(bindparam("ids", type_=ARRAY(Uuid))))


@dataclass(frozen=True, slots=True)
class Fork:
    """One of several live listings with the same content."""

    name: str
    repository: RepositoryName
    stars: int | None


async def find_forks(db: AsyncConnection, digests: Sequence[str]) -> dict[str, tuple[Fork, ...]]:
    """Return live listings of each content, canonical first: most stars, then oldest."""
    if not digests:
        return {}
    forks: dict[str, tuple[Fork, ...]] = {}
    for row in await db.execute(_FORKS, {"digests": list(set(digests))}):
        forks[row.content_digest] = (*forks.get(row.content_digest, ()), _fork(row))
    return forks


def _fork(row: Any) -> Fork:
    return Fork(row.name, RepositoryName(Host(row.host), row.owner, row.repository_name), row.stars)


@dataclass(frozen=True)
class SkillWithForks:
    """A listing, and the other repositories with the same content: most stars first, then oldest."""

    skill: Skill
    alternates: tuple[RepositoryName, ...] = ()


async def read_with_forks(db: AsyncConnection, ids: Sequence[UUID]) -> list[SkillWithForks]:
    """Return these listings in the given order."""
    if not ids:
        return []
    rows = await db.execute(_WITH_FORKS, {"ids": list(ids)})
    found = {row.id: _with_forks(row) for row in rows}
    return [found[each] for each in ids]


def _with_forks(row: Any) -> SkillWithForks:
    others = tuple(RepositoryName(Host(host), owner, name) for host, owner, name in row.alternates or ())
    return SkillWithForks(skill_of(row), others)
