"""Forks: the same bytes listed more than once. One listing is canonical, the others are its alternates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, Text, and_, any_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.store.skills.skills import IS_LIVE
from assay.store.tables import repository, skill, skill_version

# Of each content no more are told, the canonical one among them.
MOST_FORKS = 20
_PLACE = func.row_number().over(
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
        _PLACE.label("place"),
    )
    .select_from(_JOINED)
    .where(IS_LIVE, skill_version.c.content_digest == any_(bindparam("digests", type_=ARRAY(Text))))
    .subquery()
)
_FORKS = select(_RANKED).where(_RANKED.c.place <= MOST_FORKS).order_by(_RANKED.c.content_digest, _RANKED.c.place)


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
    forks: dict[str, tuple[Fork, ...]] = {}
    for row in await db.execute(_FORKS, {"digests": list(set(digests))}):
        forks[row.content_digest] = (*forks.get(row.content_digest, ()), _fork(row))
    return forks


def _fork(row: Any) -> Fork:
    return Fork(row.name, RepositoryName(Host(row.host), row.owner, row.repository_name), row.stars)
