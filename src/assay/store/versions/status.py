"""Status changes of listings and versions. Each function writes its change record.

The caller locks the listing first (`skills/locks.py`).
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import cast, func, select, text, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.skill import (
    Certificate,
    ListingStatus,
    Skill,
    SkillVersion,
    StatusReason,
    VersionStatus,
)
from assay.store.database.records import json_text
from assay.store.feed.changes import record_change
from assay.store.skills.locks import lock_matching
from assay.store.tables import (
    change,
    skill,
    skill_version,
)
from assay.store.versions.publications import DESCRIBED, certificate_columns
from assay.store.versions.versions import list_versions

# Keeps the live version if it is usable, else selects the newest usable one and restores what the listing said with
# it. A version that becomes usable again is selected if it is newer. The listing is not updated if nothing changes.
SELECT_LIVE = text(
    f"""
    WITH best AS (
        SELECT id, described FROM skill_version
        WHERE skill_id = :skill_id AND status = 'live'
        ORDER BY id = coalesce(
            CAST(:back AS uuid), (SELECT current_version_id FROM skill WHERE id = :skill_id)
        ) DESC, ordinal DESC
        LIMIT 1
    ), said AS (
        SELECT best.id AS version_id, described.*
        FROM best, skill CROSS JOIN LATERAL jsonb_populate_record(NULL::skill, to_jsonb(skill) || best.described)
            AS described
        WHERE skill.id = :skill_id
    ), changed AS (
        UPDATE skill SET
            updated_at = now(), current_version_id = said.version_id,
            {", ".join(f"{column.name} = said.{column.name}" for column in DESCRIBED)}
        FROM said WHERE skill.id = :skill_id AND skill.current_version_id <> said.version_id
    )
    SELECT id FROM best
    """
)


async def set_version_status(
    db: AsyncConnection, listing: Skill, version: SkillVersion, status: VersionStatus, reason: StatusReason | None
) -> None:
    """Yank, withdraw or restore a version."""
    values = {"status": status.value, **_columns("status", reason)}
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    kind = {
        VersionStatus.YANKED: ChangeKind.YANK,
        VersionStatus.WITHDRAWN: ChangeKind.WITHDRAW,
        VersionStatus.LIVE: ChangeKind.UNYANK,
    }[status]
    await record_change(db, kind, listing, reason, version=version.version, digest=version.content_digest)


async def set_deprecation(
    db: AsyncConnection, listing: Skill, version: SkillVersion, reason: StatusReason | None
) -> None:
    """Deprecate a version, or remove the deprecation if there is no reason."""
    values = _columns("deprecation", reason)
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    kind = ChangeKind.DEPRECATE if reason else ChangeKind.UNDEPRECATE
    await record_change(db, kind, listing, reason, version=version.version, digest=version.content_digest)


async def set_certificate(db: AsyncConnection, listing: Skill, version: SkillVersion, certificate: Certificate) -> None:
    """Set the certificate of a version, and of its listing if it is the live version."""
    columns = certificate_columns(certificate)
    described = skill_version.c.described.op("||")(cast(json_text(columns), JSONB))
    values = {
        "tier": certificate.tier.value,
        "score": certificate.score,
        "hallmark": certificate.hallmark,
        "oms_signature": func.coalesce(skill_version.c.oms_signature, cast(certificate.oms_signature, JSONB)),
        "described": described,
    }
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    if version.version == listing.current_version:
        await db.execute(update(skill).where(skill.c.id == listing.id).values(updated_at=func.now(), **columns))
    more = {"version": version.version, "digest": version.content_digest, "tier": certificate.tier.value}
    await record_change(db, ChangeKind.UPDATE, listing, None, **more)


async def select_live_version(db: AsyncConnection, listing: Skill, *, back: SkillVersion | None = None) -> UUID | None:
    """Keep the live version if it is usable, else make the newest usable one live; None if there is none.

    `back` is a version that has become usable again; it becomes live if it is newer than the live one.
    """
    is_newer = back is not None and back.ordinal > await _live_ordinal(db, listing.id)
    params = {"skill_id": listing.id, "back": back.id if back and is_newer else None}
    live: UUID | None = (await db.execute(SELECT_LIVE, params)).scalar_one_or_none()
    return live


async def set_listing_status(
    db: AsyncConnection, listing: Skill, status: ListingStatus, reason: StatusReason | None, *, kind: ChangeKind
) -> None:
    """Set the status of a listing, with the reason if it is not live."""
    values = {"standing": status.value, "updated_at": func.now(), **_columns("standing", reason)}
    await db.execute(update(skill).where(skill.c.id == listing.id).values(values))
    await record_change(db, kind, listing, reason, standing=status.value)


async def _live_ordinal(db: AsyncConnection, skill_id: UUID) -> int:
    """Return the ordinal of the live version; 0 if it is not usable."""
    statement = select(skill_version.c.ordinal).join_from(
        skill, skill_version, skill.c.current_version_id == skill_version.c.id
    )
    is_usable = skill_version.c.status == VersionStatus.LIVE.value
    found = await db.execute(statement.where(skill.c.id == skill_id, is_usable))
    return int(found.scalar_one_or_none() or 0)


def _columns(prefix: str, reason: StatusReason | None) -> dict[str, str | datetime | None]:
    if reason is None:
        return dict.fromkeys(f"{prefix}_{part}" for part in ("code", "message", "at", "by"))
    return {
        f"{prefix}_code": reason.code,
        f"{prefix}_message": reason.message,
        f"{prefix}_at": reason.at,
        f"{prefix}_by": reason.by,
    }


async def lock_versions_with(db: AsyncConnection, digest: str) -> list[tuple[Skill, SkillVersion]]:
    """Return every version with this content and its listing, which is locked until the end of the transaction."""
    holders = select(skill_version.c.skill_id).where(skill_version.c.content_digest == digest)
    found = await lock_matching(db, skill.c.id.in_(holders))
    return [
        (listing, version)
        for listing in found
        for version in await list_versions(db, listing.id)
        if version.content_digest == digest
    ]


async def find_yank_reason(db: AsyncConnection, listing: Skill, version: SkillVersion, by: str) -> StatusReason | None:
    """Return why a version was yanked before it was withdrawn, from the change feed; None if it was not."""
    statement = select(change.c.kind, change.c.data, change.c.created_at).where(
        change.c.skill_id == listing.id,
        change.c.kind.in_((ChangeKind.YANK.value, ChangeKind.UNYANK.value)),
        change.c.data["version"].astext == version.version,
    )
    row = (await db.execute(statement.order_by(change.c.id.desc()).limit(1))).one_or_none()
    if row is None or row.kind != ChangeKind.YANK.value:
        return None
    return StatusReason(row.data["reason"]["code"], row.data["reason"]["message"], row.created_at, by)
