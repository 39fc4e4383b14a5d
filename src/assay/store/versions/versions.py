"""Reading versions of listings."""

from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NotFound
from assay.model.skill import Skill, SkillVersion, Tier, VersionStatus
from assay.store.skills.skills import status_reason_of
from assay.store.tables import skill_version

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
_VERSIONS = (
    select(*VERSION_COLUMNS)
    .where(skill_version.c.skill_id == bindparam("of_skill"))
    .order_by(skill_version.c.ordinal.desc())
)


async def list_versions(db: AsyncConnection, skill_id: UUID) -> list[SkillVersion]:
    """Return all versions, newest first."""
    return [version_of(row) for row in await db.execute(_VERSIONS, {"of_skill": skill_id})]


async def page_versions(db: AsyncConnection, skill_id: UUID, *, before: int | None, limit: int) -> list[SkillVersion]:
    """Return a page of versions, newest first, with ordinals below `before`."""
    statement = _VERSIONS if before is None else _VERSIONS.where(skill_version.c.ordinal < before)
    return [version_of(row) for row in await db.execute(statement.limit(limit), {"of_skill": skill_id})]


async def find_version(db: AsyncConnection, skill_id: UUID, version: str) -> SkillVersion | None:
    statement = select(*VERSION_COLUMNS).where(skill_version.c.skill_id == skill_id)
    row = (await db.execute(statement.where(skill_version.c.version == version))).one_or_none()
    return version_of(row) if row else None


async def find_oms_signature(db: AsyncConnection, version_id: UUID) -> dict[str, Any] | None:
    """Return the OpenSSF model signature of a version, if one was made when it was published."""
    statement = select(skill_version.c.oms_signature).where(skill_version.c.id == version_id)
    return (await db.execute(statement)).scalar_one_or_none()


def version_of(row: Any) -> SkillVersion:
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
        remark=status_reason_of(row.status_code, row.status_message, row.status_at, row.status_by),
        deprecation=status_reason_of(
            row.deprecation_code, row.deprecation_message, row.deprecation_at, row.deprecation_by
        ),
    )


async def get_version(db: AsyncConnection, listing: Skill, version: str) -> SkillVersion:
    """Raise NotFound if the listing has no such version."""
    found = await find_version(db, listing.id, version)
    if found is None:
        raise NotFound(f"{listing.name} has no version {version}.", code="version_not_found")
    return found
