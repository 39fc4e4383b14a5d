"""Reading listings."""

from collections.abc import Sequence
from datetime import datetime
from random import random
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import Category
from assay.model.errors import NotFound
from assay.model.repository import Host, RepositoryName
from assay.model.skill import ListingStatus, Method, Skill, StatusReason, Tier, TrustTier
from assay.store.tables import repository, skill, skill_version

COLUMNS = (
    skill.c.id,
    skill.c.name,
    skill.c.display_name,
    skill.c.description,
    skill.c.author,
    skill.c.skill_path,
    skill.c.license,
    skill.c.tier,
    skill.c.method,
    skill.c.score,
    skill.c.trust_score,
    skill.c.trust_tier,
    skill.c.certified_at,
    skill.c.created_at,
    skill.c.named_at,
    skill.c.updated_at,
    skill_version.c.version,
    skill_version.c.content_digest,
    skill_version.c.commit,
    repository.c.host,
    repository.c.owner,
    repository.c.name.label("repository_name"),
    skill.c.stars,
    skill.c.category,
    skill.c.labels,
    skill.c.installs,
    skill.c.trending_7d,
    skill.c.trending_30d,
    skill.c.standing,
    skill.c.standing_code,
    skill.c.standing_message,
    skill.c.standing_at,
    skill.c.standing_by,
    skill.c.claimed_author,
)
IS_LIVE = skill.c.standing == ListingStatus.LIVE.value
# Listings with their live version and repository. Built once, because building it costs time in every read.
SKILLS: Select[Any] = select(*COLUMNS).select_from(
    skill.join(skill_version, and_(skill.c.current_version_id == skill_version.c.id)).join(
        repository, and_(skill.c.repository_id == repository.c.id)
    )
)
_NAMED = SKILLS.where(skill.c.name == bindparam("wanted"))


async def find_skills(db: AsyncConnection, names: Sequence[str]) -> dict[str, Skill]:
    """Return the live listings with exactly these names."""
    rows = await db.execute(SKILLS.where(skill.c.name.in_(set(names)), IS_LIVE))
    return {row.name: skill_of(row) for row in rows}


async def get_skill(db: AsyncConnection, name: str) -> Skill:
    """Return the listing, whatever its status. Raises NotFound."""
    found = await find_skill(db, name)
    if found is None:
        raise NotFound(f"There is no skill {name}.", code="skill_not_found")
    return found


async def find_skill(db: AsyncConnection, name: str) -> Skill | None:
    """Return the listing, whatever its status."""
    row = (await db.execute(_NAMED, {"wanted": name.lower()})).one_or_none()
    return skill_of(row) if row else None


async def find_name(db: AsyncConnection, skill_id: UUID) -> str | None:
    return (await find_names(db, [skill_id])).get(skill_id)


async def find_names(db: AsyncConnection, skill_ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await db.execute(select(skill.c.id, skill.c.name).where(skill.c.id.in_(skill_ids)))
    return {row.id: row.name for row in rows}


async def list_recently_updated(db: AsyncConnection, limit: int) -> list[Skill]:
    ordered = SKILLS.where(IS_LIVE).order_by(skill.c.updated_at.desc(), skill.c.id.desc())
    return [skill_of(row) for row in await db.execute(ordered.limit(limit))]


async def list_recently_listed(db: AsyncConnection, limit: int) -> list[Skill]:
    ordered = SKILLS.where(IS_LIVE).order_by(skill.c.created_at.desc(), skill.c.id.desc()).limit(limit)
    return [skill_of(row) for row in await db.execute(ordered)]


async def sample_skills(db: AsyncConnection, number: int) -> list[Skill]:
    """Return a random sample: live listings created after a random time, filled up with the oldest."""
    span = select(func.min(skill.c.created_at), func.max(skill.c.created_at)).where(IS_LIVE)
    first, last = (await db.execute(span)).one()
    if first is None:
        return []
    found: dict[UUID, Skill] = {}
    for since in (first + random() * (last - first), first):  # noqa: S311 - a sample, not a secret
        ordered = SKILLS.where(IS_LIVE, skill.c.created_at >= since).order_by(skill.c.created_at, skill.c.id)
        for row in await db.execute(ordered.limit(number - len(found))):
            found.setdefault(row.id, skill_of(row))
    return list(found.values())


def skill_of(row: Row[Any]) -> Skill:
    return Skill(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        description=row.description,
        author=row.author,
        repository=RepositoryName(Host(row.host), row.owner, row.repository_name),
        skill_path=row.skill_path,
        license=row.license,
        tier=Tier(row.tier),
        method=Method(row.method),
        score=row.score,
        trust_score=row.trust_score,
        trust_tier=TrustTier(row.trust_tier),
        certified_at=row.certified_at,
        current_version=row.version,
        content_digest=row.content_digest,
        commit=row.commit,
        stars=row.stars,
        created_at=row.created_at,
        named_at=row.named_at,
        updated_at=row.updated_at,
        category=Category(row.category),
        labels=tuple(row.labels),
        installs=row.installs,
        trending_7d=row.trending_7d,
        trending_30d=row.trending_30d,
        standing=ListingStatus(row.standing),
        remark=status_reason_of(row.standing_code, row.standing_message, row.standing_at, row.standing_by),
        claimed_author=row.claimed_author,
    )


def status_reason_of(code: str | None, message: str | None, at: datetime | None, by: str | None) -> StatusReason | None:
    return StatusReason(code, message, at, by) if code and message and at and by else None
