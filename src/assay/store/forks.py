"""Forks: the same bytes listed more than once. One listing is canonical, the others are its alternates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.store.skills import IS_LIVE
from assay.store.tables import repository, skill, skill_version

# Of each content no more are told, the canonical one among them.
MOST_FORKS = 20


@dataclass(frozen=True, slots=True)
class Fork:
    """One of the listings whose live version has the same bytes."""

    name: str
    repository: RepositoryName
    stars: int | None


async def find_forks(db: AsyncConnection, digests: Sequence[str]) -> dict[str, tuple[Fork, ...]]:
    """All live listings of each content, the canonical one first: that of the repository with most stars, else the
    oldest.
    """
    if not digests:
        return {}
    place = func.row_number().over(
        partition_by=skill_version.c.content_digest,
        order_by=(skill.c.stars.desc().nulls_last(), skill.c.created_at, skill.c.id),
    )
    joined = skill_version.join(
        skill, and_(skill.c.current_version_id == skill_version.c.id, skill.c.id == skill_version.c.skill_id)
    ).join(repository, skill.c.repository_id == repository.c.id)
    ranked = (
        select(
            skill_version.c.content_digest,
            skill.c.name,
            repository.c.host,
            repository.c.owner,
            repository.c.name.label("repository_name"),
            skill.c.stars,
            place.label("place"),
        )
        .select_from(joined)
        .where(IS_LIVE, skill_version.c.content_digest.in_(set(digests)))
        .subquery()
    )
    statement = select(ranked).where(ranked.c.place <= MOST_FORKS).order_by(ranked.c.content_digest, ranked.c.place)
    forks: dict[str, tuple[Fork, ...]] = {}
    for row in await db.execute(statement):
        forks[row.content_digest] = (*forks.get(row.content_digest, ()), _fork(row))
    return forks


def _fork(row: Any) -> Fork:
    return Fork(row.name, RepositoryName(Host(row.host), row.owner, row.repository_name), row.stars)
