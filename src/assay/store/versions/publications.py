"""Publishing versions of listings. Each statement writes its change records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import category_of
from assay.model.change import ChangeKind
from assay.model.skill import Certificate, Description, ListingStatus, SkillVersion
from assay.store.database.records import json_text, recordset
from assay.store.tables import skill

# A new version restores listings that have no version left or lost their source, but not those taken down by people.
REVIVED = f"'{ListingStatus.GONE}', '{ListingStatus.WITHDRAWN}'"


@dataclass(frozen=True, slots=True)
class ExistingListing:
    id: UUID
    name: str
    status: ListingStatus = ListingStatus.LIVE
    is_name_chosen: bool = False
    skill_path: str = ""


@dataclass(frozen=True)
class ListingUpdate:
    """The values written to a listing when one of its versions becomes live."""

    id: UUID
    name: str
    repository_id: int
    skill_path: str
    author: str
    claimed_author: str | None
    is_name_chosen: bool
    description: Description
    certificate: Certificate


@dataclass(frozen=True)
class NewVersion:
    """A version to be published as the live one."""

    listing: ListingUpdate
    version: SkillVersion
    ordinal: int
    scan_id: int
    submission_id: UUID


DESCRIBED = (
    skill.c.display_name,
    skill.c.description,
    skill.c.author,
    skill.c.claimed_author,
    skill.c.license,
    skill.c.tier,
    skill.c.method,
    skill.c.score,
    skill.c.trust_score,
    skill.c.trust_tier,
    skill.c.certified_at,
    skill.c.category,
    skill.c.labels,
)
LISTED = (
    skill.c.id,
    skill.c.name,
    skill.c.repository_id,
    skill.c.skill_path,
    skill.c.current_version_id,
    skill.c.is_name_chosen,
    *DESCRIBED,
)
LISTED_NAMES = ", ".join(column.name for column in LISTED)
GIVEN = f"""
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
            {recordset(LISTED)}, version text, ordinal int, content_digest text, commit text, scan_id bigint,
            hallmark jsonb, oms_signature jsonb, published_at timestamptz, submission_id uuid, data jsonb,
            described jsonb
        )
    ), listed AS (
    """
# A restored listing gets its own change: the version change alone does not say that it is live again.
RECORDED = f"""
    ), recorded AS (
        INSERT INTO change (kind, skill_id, submission_id, data)
        SELECT kind, id, submission_id, data FROM (
            SELECT 1 AS place, CAST(:kind AS text) AS kind, id, submission_id, data FROM given
            UNION ALL
            SELECT 2, '{ChangeKind.RESTORE}', given.id, submission_id, data || '{{"standing": "live"}}'
            FROM given JOIN skill ON skill.id = given.id AND skill.standing IN ({REVIVED})
        ) AS told
        WHERE id IN (SELECT id FROM listed) ORDER BY id, place
    )
    SELECT id FROM listed
    """
VERSIONED = (
    """
    ), versioned AS (
        INSERT INTO skill_version
            (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark, oms_signature,
            published_at, described)
        SELECT current_version_id, id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark,
            oms_signature, published_at, described
        FROM given WHERE id IN (SELECT id FROM listed)
    """
    + RECORDED
)
LIST = text(
    GIVEN
    + f"""
        INSERT INTO skill ({LISTED_NAMES}, stars)
        SELECT {LISTED_NAMES}, (SELECT stars FROM repository WHERE id = given.repository_id) FROM given
        ON CONFLICT DO NOTHING
        RETURNING id
    """
    + VERSIONED
)
DESCRIBE = f"""
        UPDATE skill SET
            updated_at = now(),
            current_version_id = given.current_version_id,
            is_name_chosen = skill.is_name_chosen OR given.is_name_chosen,
            {", ".join(f"{column.name} = given.{column.name}" for column in DESCRIBED)},
            standing = revived.standing,
            standing_code = revived.standing_code,
            standing_message = revived.standing_message,
            standing_at = revived.standing_at,
            standing_by = revived.standing_by
        FROM given, skill AS before
        CROSS JOIN LATERAL (
            SELECT 'live' AS standing, NULL AS standing_code, NULL AS standing_message,
                NULL::timestamptz AS standing_at, NULL AS standing_by
            WHERE before.standing IN ({REVIVED})
            UNION ALL
            SELECT before.standing, before.standing_code, before.standing_message, before.standing_at,
                before.standing_by
            WHERE before.standing NOT IN ({REVIVED})
        ) AS revived
        WHERE skill.id = given.id AND before.id = given.id
        RETURNING skill.id
    """
RENEW = text(GIVEN + DESCRIBE + VERSIONED)
# For an existing version: listing and version get the new certificate.
REDESCRIBE = text(
    GIVEN
    + DESCRIBE
    + """
    ), certified AS (
        UPDATE skill_version SET
            tier = given.tier, score = given.score, hallmark = given.hallmark, described = given.described,
            oms_signature = coalesce(skill_version.oms_signature, given.oms_signature)
        FROM given WHERE skill_version.id = given.current_version_id
    """
    + RECORDED
)


async def publish_first_versions(db: AsyncConnection, versions: Sequence[NewVersion]) -> set[UUID]:
    """Insert listings with their first versions and change records in one statement.

    Returns the ids that were inserted; the others have a name or folder that is already listed.
    """
    params = {"rows": json_text(list(map(_row, versions))), "kind": ChangeKind.PUBLISH.value}
    return set((await db.execute(LIST, params)).scalars())


async def publish_next_version(db: AsyncConnection, new: NewVersion) -> None:
    """Append a version and make it live, with its change record."""
    await db.execute(RENEW, {"rows": json_text([_row(new)]), "kind": ChangeKind.VERSION.value})


async def lock_listing(db: AsyncConnection, repository_id: int, skill_path: str) -> ExistingListing | None:
    """Lock the listing of a folder until the end of the transaction."""
    return await _lock(db, skill.c.repository_id == repository_id, skill.c.skill_path == skill_path)


async def lock_holder(db: AsyncConnection, name: str) -> ExistingListing | None:
    """Lock the listing that has a name until the end of the transaction."""
    return await _lock(db, skill.c.name == name)


async def _lock(db: AsyncConnection, *conditions: ColumnElement[bool]) -> ExistingListing | None:
    columns = (skill.c.id, skill.c.name, skill.c.standing, skill.c.is_name_chosen, skill.c.skill_path)
    row = (await db.execute(select(*columns).where(*conditions).with_for_update(key_share=True))).one_or_none()
    if row is None:
        return None
    return ExistingListing(row.id, row.name, ListingStatus(row.standing), row.is_name_chosen, row.skill_path)


async def make_live(db: AsyncConnection, known: NewVersion) -> None:
    """Make an existing version live, update its certificate and the listing, and write a change record."""
    await db.execute(REDESCRIBE, {"rows": json_text([_row(known)]), "kind": ChangeKind.UPDATE.value})


def certificate_columns(certificate: Certificate) -> dict[str, Any]:
    """Return the columns of a listing that its certificate determines."""
    return {
        "tier": certificate.tier.value,
        "method": certificate.method.value,
        "score": certificate.score,
        "trust_score": certificate.trust_score,
        "trust_tier": certificate.trust_tier.value,
        "certified_at": certificate.certified_at,
    }


def _described(listing: ListingUpdate) -> dict[str, Any]:
    """Return the columns of a listing that its live version determines."""
    return certificate_columns(listing.certificate) | {
        "display_name": listing.description.name or listing.name.rpartition("/")[2],
        "description": listing.description.description,
        "author": listing.author,
        "claimed_author": listing.claimed_author,
        "license": listing.description.license,
        "category": category_of(listing.description.category, listing.name, listing.description.description),
        "labels": list(listing.description.labels),
    }


def _row(new: NewVersion) -> dict[str, Any]:
    listing, version = new.listing, new.version
    described = _described(listing)
    return described | {
        "current_version_id": version.id,
        "described": described,
        "id": listing.id,
        "name": listing.name,
        "is_name_chosen": listing.is_name_chosen,
        "repository_id": listing.repository_id,
        "skill_path": listing.skill_path,
        "version": version.version,
        "ordinal": new.ordinal,
        "content_digest": version.content_digest,
        "commit": version.commit,
        "scan_id": new.scan_id,
        "hallmark": version.hallmark,
        "oms_signature": listing.certificate.oms_signature,
        "published_at": version.published_at,
        "submission_id": new.submission_id,
        "data": {"name": listing.name, "version": version.version, "digest": version.content_digest},
    }
