"""Listings and their versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, func, literal, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NotFound
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Certificate, Description, Method, Skill, SkillVersion, Tier, TrustTier
from assay.store.records import json_text, recordset
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
    repository.c.stars,
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
)


@dataclass(frozen=True)
class Listing:
    """What is written about a skill when one of its versions goes live."""

    id: UUID
    name: str
    repository_id: int
    skill_path: str
    author: str
    description: Description
    certificate: Certificate


@dataclass(frozen=True)
class NewVersion:
    """A version that did not exist before."""

    listing: Listing
    version: SkillVersion
    ordinal: int
    scan_id: int
    submission_id: UUID


DESCRIBED = (
    skill.c.display_name,
    skill.c.description,
    skill.c.author,
    skill.c.license,
    skill.c.tier,
    skill.c.method,
    skill.c.score,
    skill.c.trust_score,
    skill.c.trust_tier,
    skill.c.certified_at,
    skill.c.current_version_id,
)
LISTED = (skill.c.id, skill.c.name, skill.c.repository_id, skill.c.skill_path, *DESCRIBED)
LISTED_NAMES = ", ".join(column.name for column in LISTED)
GIVEN = f"""
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
            {recordset(LISTED)}, version text, ordinal int, content_digest text, commit text, scan_id bigint,
            hallmark jsonb, published_at timestamptz, submission_id uuid, data jsonb
        )
    ), listed AS (
    """
VERSIONED = """
    ), versioned AS (
        INSERT INTO skill_version
            (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark, published_at)
        SELECT current_version_id, id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark,
            published_at
        FROM given WHERE id IN (SELECT id FROM listed)
    ), recorded AS (
        INSERT INTO change (kind, skill_id, submission_id, data)
        SELECT 'publish', id, submission_id, data FROM given WHERE id IN (SELECT id FROM listed)
    )
    SELECT id FROM listed
    """
LIST = text(
    GIVEN
    + f"""
        INSERT INTO skill ({LISTED_NAMES})
        SELECT {LISTED_NAMES} FROM given
        ON CONFLICT DO NOTHING
        RETURNING id
    """
    + VERSIONED
)
RENEW = text(
    GIVEN
    + f"""
        UPDATE skill SET updated_at = now(), {", ".join(f"{column.name} = given.{column.name}" for column in DESCRIBED)}
        FROM given WHERE skill.id = given.id
        RETURNING skill.id
    """
    + VERSIONED
)


async def list_first_versions(db: AsyncConnection, news: Sequence[NewVersion]) -> set[UUID]:
    """Listings, first versions and change records in one statement.

    Returns the ids that are listed now; those left out want a name or a folder that is listed already.
    """
    return set((await db.execute(LIST, {"rows": json_text(list(map(_row, news)))})).scalars())


async def list_next_version(db: AsyncConnection, new: NewVersion) -> None:
    """Append a version and make it the live one, with its change record."""
    await db.execute(RENEW, {"rows": json_text([_row(new)])})


async def lock_listing(db: AsyncConnection, repository_id: int, skill_path: str) -> tuple[UUID, str] | None:
    """Id and name of the listing of this folder, locked until the end of the transaction."""
    statement = (
        select(skill.c.id, skill.c.name)
        .where(skill.c.repository_id == repository_id, skill.c.skill_path == skill_path)
        .with_for_update()
    )
    row = (await db.execute(statement)).one_or_none()
    return (row.id, row.name) if row else None


async def make_live(db: AsyncConnection, listing: Listing, version_id: UUID) -> None:
    """Make a version that exists the live one and describe the listing by it."""
    columns = _described(listing, version_id)
    await db.execute(update(skill).where(skill.c.id == listing.id).values(updated_at=func.now(), **columns))


async def list_versions(db: AsyncConnection, skill_id: UUID) -> list[SkillVersion]:
    """All versions of a listing, newest first."""
    statement = (
        select(*VERSION_COLUMNS).where(skill_version.c.skill_id == skill_id).order_by(skill_version.c.ordinal.desc())
    )
    return [
        SkillVersion(row.id, row.version, row.content_digest, row.commit, Tier(row.tier), *row[5:])
        for row in await db.execute(statement)
    ]


async def get_skill(db: AsyncConnection, name: str) -> Skill:
    """The listing of this name, or NotFound."""
    row = (await db.execute(read_skills().where(skill.c.name == name.lower()))).one_or_none()
    if row is None:
        raise NotFound(f"There is no skill {name}.", code="skill_not_found")
    return skill_of(row)


async def find_name(db: AsyncConnection, skill_id: UUID) -> str | None:
    """The name of a listing."""
    return (await find_names(db, [skill_id])).get(skill_id)


async def find_names(db: AsyncConnection, skill_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The names of listings."""
    rows = await db.execute(select(skill.c.id, skill.c.name).where(skill.c.id.in_(skill_ids)))
    return {row.id: row.name for row in rows}


async def list_skills(db: AsyncConnection, *, before: tuple[datetime, UUID] | None, limit: int) -> list[Skill]:
    """A page, last updated first, from after the `before` position (updated_at, id)."""
    statement = read_skills()
    if before is not None:
        statement = statement.where(tuple_(skill.c.updated_at, skill.c.id) < tuple_(*map(literal, before)))
    ordered = statement.order_by(skill.c.updated_at.desc(), skill.c.id.desc()).limit(limit)
    return [skill_of(row) for row in await db.execute(ordered)]


def read_skills() -> Select[Any]:
    """Listings with their live version and repository."""
    joined = skill.join(skill_version, and_(skill.c.current_version_id == skill_version.c.id)).join(
        repository, and_(skill.c.repository_id == repository.c.id)
    )
    return select(*COLUMNS).select_from(joined)


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
    )


def _described(listing: Listing, version_id: UUID) -> dict[str, Any]:
    """The values of DESCRIBED."""
    certificate = listing.certificate
    return {
        "display_name": listing.description.name or listing.name.rpartition("/")[2],
        "description": listing.description.description,
        "author": listing.author,
        "license": listing.description.license,
        "tier": certificate.tier.value,
        "method": certificate.method.value,
        "score": certificate.score,
        "trust_score": certificate.trust_score,
        "trust_tier": certificate.trust_tier.value,
        "certified_at": certificate.certified_at,
        "current_version_id": version_id,
    }


def _row(new: NewVersion) -> dict[str, Any]:
    listing, version = new.listing, new.version
    return _described(listing, version.id) | {
        "id": listing.id,
        "name": listing.name,
        "repository_id": listing.repository_id,
        "skill_path": listing.skill_path,
        "version": version.version,
        "ordinal": new.ordinal,
        "content_digest": version.content_digest,
        "commit": version.commit,
        "scan_id": new.scan_id,
        "hallmark": version.hallmark,
        "published_at": version.published_at,
        "submission_id": new.submission_id,
        "data": {"name": listing.name, "version": version.version, "digest": version.content_digest},
    }
