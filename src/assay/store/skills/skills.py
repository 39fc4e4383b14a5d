"""Listings and their versions, as they are read."""

from collections.abc import Sequence
from datetime import datetime
from random import random
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import Category
from assay.model.errors import NotFound
from assay.model.listing_status import Remark, Standing, VersionStatus
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Method, Skill, SkillVersion, Tier, TrustTier
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
)
VERSION_COLUMNS = (
    skill_version.c.id,
    skill_version.c.version,
    skill_version.c.content_digest,
    skill_version.c.commit,
    skill_version.c.tier,
    skill_version.c.score,
    skill_version.c.hallmark,
    skill_version.c.published_at,
    skill_version.c.ordinal,
    skill_version.c.status,
    skill_version.c.status_code,
    skill_version.c.status_message,
    skill_version.c.status_at,
    skill_version.c.status_by,
    skill_version.c.deprecation_code,
    skill_version.c.deprecation_message,
    skill_version.c.deprecation_at,
    skill_version.c.deprecation_by,
)
IS_LIVE = skill.c.standing == Standing.LIVE.value
# Listings with their live version and repository; built once, because whoever reads pays for it each time.
SKILLS: Select[Any] = select(*COLUMNS).select_from(
    skill.join(skill_version, and_(skill.c.current_version_id == skill_version.c.id)).join(
        repository, and_(skill.c.repository_id == repository.c.id)
    )
)
_NAMED = SKILLS.where(skill.c.name == bindparam("wanted"))
_VERSIONS = (
    select(*VERSION_COLUMNS)
    .where(skill_version.c.skill_id == bindparam("of_skill"))
    .order_by(skill_version.c.ordinal.desc())
)


async def list_versions(db: AsyncConnection, skill_id: UUID) -> list[SkillVersion]:
    """All versions of a listing, newest first."""
    return [version_of(row) for row in await db.execute(_VERSIONS, {"of_skill": skill_id})]


async def page_versions(db: AsyncConnection, skill_id: UUID, *, before: int | None, limit: int) -> list[SkillVersion]:
    """A page of the versions of a listing, newest first, from before this place."""
    statement = _VERSIONS if before is None else _VERSIONS.where(skill_version.c.ordinal < before)
    return [version_of(row) for row in await db.execute(statement.limit(limit), {"of_skill": skill_id})]


async def find_version(db: AsyncConnection, skill_id: UUID, version: str) -> SkillVersion | None:
    """One version of a listing."""
    statement = select(*VERSION_COLUMNS).where(skill_version.c.skill_id == skill_id)
    row = (await db.execute(statement.where(skill_version.c.version == version))).one_or_none()
    return version_of(row) if row else None


async def find_oms_signature(db: AsyncConnection, version_id: UUID) -> dict[str, Any] | None:
    """The signature of a version for tools of models, if it was made when it was published."""
    statement = select(skill_version.c.oms_signature).where(skill_version.c.id == version_id)
    return (await db.execute(statement)).scalar_one_or_none()


async def find_skills(db: AsyncConnection, names: Sequence[str]) -> dict[str, Skill]:
    """The live listings that have exactly these names."""
    rows = await db.execute(SKILLS.where(skill.c.name.in_(set(names)), IS_LIVE))
    return {row.name: skill_of(row) for row in rows}


async def get_skill(db: AsyncConnection, name: str) -> Skill:
    """The listing of this name, live or not, or NotFound."""
    found = await find_skill(db, name)
    if found is None:
        raise NotFound(f"There is no skill {name}.", code="skill_not_found")
    return found


async def find_skill(db: AsyncConnection, name: str) -> Skill | None:
    """The listing of this name, live or not."""
    row = (await db.execute(_NAMED, {"wanted": name.lower()})).one_or_none()
    return skill_of(row) if row else None


async def find_name(db: AsyncConnection, skill_id: UUID) -> str | None:
    """The name of a listing."""
    return (await find_names(db, [skill_id])).get(skill_id)


async def find_names(db: AsyncConnection, skill_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The names of listings."""
    rows = await db.execute(select(skill.c.id, skill.c.name).where(skill.c.id.in_(skill_ids)))
    return {row.id: row.name for row in rows}


async def list_newest(db: AsyncConnection, limit: int) -> list[Skill]:
    """Live listings, last updated first."""
    ordered = SKILLS.where(IS_LIVE).order_by(skill.c.updated_at.desc(), skill.c.id.desc())
    return [skill_of(row) for row in await db.execute(ordered.limit(limit))]


async def list_first_published(db: AsyncConnection, limit: int) -> list[Skill]:
    """Live listings, those that came last first."""
    ordered = SKILLS.where(IS_LIVE).order_by(skill.c.created_at.desc(), skill.c.id.desc()).limit(limit)
    return [skill_of(row) for row in await db.execute(ordered)]


async def sample_skills(db: AsyncConnection, number: int) -> list[Skill]:
    """Some live listings, others each time: those that came after some moment, and the first if those are few."""
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
    """A row of COLUMNS as a value."""
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
        updated_at=row.updated_at,
        category=Category(row.category),
        labels=tuple(row.labels),
        installs=row.installs,
        trending_7d=row.trending_7d,
        trending_30d=row.trending_30d,
        standing=Standing(row.standing),
        remark=remark_of(row.standing_code, row.standing_message, row.standing_at, row.standing_by),
    )


def version_of(row: Any) -> SkillVersion:
    """A row of VERSION_COLUMNS as a value."""
    return SkillVersion(
        id=row.id,
        version=row.version,
        content_digest=row.content_digest,
        commit=row.commit,
        tier=Tier(row.tier),
        score=row.score,
        hallmark=row.hallmark,
        published_at=row.published_at,
        ordinal=row.ordinal,
        status=VersionStatus(row.status),
        remark=remark_of(row.status_code, row.status_message, row.status_at, row.status_by),
        deprecation=remark_of(row.deprecation_code, row.deprecation_message, row.deprecation_at, row.deprecation_by),
    )


def remark_of(code: str | None, message: str | None, at: datetime | None, by: str | None) -> Remark | None:
    """The columns of a remark as a value."""
    return Remark(code, message, at, by) if code and message and at and by else None
