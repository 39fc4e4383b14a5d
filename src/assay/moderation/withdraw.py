"""Changes after publishing: yank, withdraw, deprecate, tag, unlist and restore, each with an audit event.

When a version is yanked or withdrawn, the listing falls back to the latest usable one. If none is left, the listing is
withdrawn, too.
"""

import re
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid
from assay.model.skill import ListingStatus, Skill, SkillVersion, StatusReason, VersionStatus
from assay.model.submission import Reason
from assay.store.moderation.blocklist import blocklist_target_of, check_blocklist, lock_blocklist_shared
from assay.store.operations.audit import record_audit
from assay.store.skills.locks import lock_skill
from assay.store.skills.skills import find_name
from assay.store.versions.status import select_live_version, set_deprecation, set_listing_status, set_version_status
from assay.store.versions.tags import remove_tag, set_tag
from assay.store.versions.versions import get_version

TAG = re.compile(r"[a-z][a-z0-9._-]{0,39}")
MIN_REASON_LENGTH, MAX_REASON_LENGTH = 3, 1_000


def status_reason(code: str, reason: str, *, at: datetime, by: str) -> StatusReason:
    """Return a reason on one line of printable characters. Raises Invalid if it is too short or too long."""
    message = " ".join("".join(each if each.isprintable() else " " for each in reason).split())
    if not MIN_REASON_LENGTH <= len(message) <= MAX_REASON_LENGTH:
        raise Invalid(f"reason must have {MIN_REASON_LENGTH} to {MAX_REASON_LENGTH} characters.", code="bad_reason")
    return StatusReason(code, message, at, by)


async def yank(db: AsyncConnection, name: str, version: str, why: StatusReason) -> Skill:
    """Hide a version from resolution; it can still be installed by its exact number."""
    return await _retract_version(db, name, version, VersionStatus.YANKED, why)


async def withdraw(db: AsyncConnection, name: str, version: str, why: StatusReason) -> Skill:
    """Remove a version for everyone."""
    return await _retract_version(db, name, version, VersionStatus.WITHDRAWN, why)


async def unyank(db: AsyncConnection, name: str, version: str, *, by: str, reason: str | None = None) -> Skill:
    """Make a yanked version usable again; restores the listing if it had no usable version."""
    await lock_blocklist_shared(db)
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if known.status is not VersionStatus.YANKED:
        raise Conflict(f"{listing.name} {version} is {known.status}, not yanked.", code="version_not_yanked")
    await set_version_status(db, listing, known, VersionStatus.LIVE, None)
    await select_live_version(db, listing, back=known)
    if listing.standing is ListingStatus.WITHDRAWN:
        await _must_not_be_blocked(db, listing)
        await set_listing_status(db, listing, ListingStatus.LIVE, None, kind=ChangeKind.RESTORE)
    await record_audit(db, by, "version_unyanked", listing.name, {"version": version, "reason": reason})
    return await lock_skill(db, name)


async def deprecate(
    db: AsyncConnection, name: str, version: str, why: StatusReason | None, *, by: str, reason: str | None = None
) -> Skill:
    """Deprecate a version, or remove its deprecation if `why` is None."""
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if why is None and known.deprecation is None:
        raise Conflict(f"{listing.name} {version} is not deprecated.", code="version_not_deprecated")
    await set_deprecation(db, listing, known, why)
    action = "version_deprecated" if why else "version_undeprecated"
    await record_audit(db, by, action, listing.name, {"version": version, "reason": why.message if why else reason})
    return listing


async def tag_version(db: AsyncConnection, name: str, tag: str, version: str | None, *, by: str) -> Skill:
    """Point a tag to a live version, or remove it if `version` is None."""
    if not TAG.fullmatch(tag) or tag == "latest":
        raise Invalid(
            "tag must start with a letter and have 1 to 40 of a–z, 0–9, '.', '-' and '_'; `latest` is reserved.",
            code="bad_tag",
        )
    listing = await lock_skill(db, name)
    if version is None:
        await remove_tag(db, listing, tag)
    else:
        known = await get_version(db, listing, version)
        _must_be_usable(listing, known)
        await set_tag(db, listing, tag, known)
    await record_audit(db, by, "skill_tagged", listing.name, {"tag": tag, "version": version})
    return listing


async def unlist(db: AsyncConnection, name: str, why: StatusReason) -> Skill:
    """Hide a live listing at the request of its owner."""
    return await _hide_listing(db, name, ListingStatus.UNLISTED, why, ChangeKind.UNLIST)


async def tombstone(db: AsyncConnection, name: str, why: StatusReason) -> Skill:
    """Mark a live listing as gone because its source no longer exists."""
    return await _hide_listing(db, name, ListingStatus.GONE, why, ChangeKind.TOMBSTONE)


async def tombstone_by_id(db: AsyncConnection, skill_id: UUID, reason: Reason, *, at: datetime) -> None:
    """Tombstone a listing by its id if it is live."""
    name = await find_name(db, skill_id)
    if name is not None and (await lock_skill(db, name)).standing is ListingStatus.LIVE:
        await tombstone(db, name, StatusReason(reason.code, reason.message, at, "worker"))


async def restore(db: AsyncConnection, name: str, *, of: ListingStatus, by: str, reason: str | None = None) -> Skill:
    """Restore a listing whose status is `of`. Raises Conflict if it is not, is blocklisted or has no usable version."""
    await lock_blocklist_shared(db)
    listing = await lock_skill(db, name)
    if listing.standing is not of:
        raise Conflict(f"{listing.name} is {listing.standing}, not {of}.", code="not_restorable")
    await _must_not_be_blocked(db, listing)
    if await select_live_version(db, listing) is None:
        raise Conflict(f"{listing.name} has no usable version. Unyank one first.", code="no_usable_version")
    await set_listing_status(db, listing, ListingStatus.LIVE, None, kind=ChangeKind.RESTORE)
    await record_audit(db, by, "skill_restored", listing.name, {"from": of.value, "reason": reason})
    return await lock_skill(db, name)


async def _retract_version(
    db: AsyncConnection, name: str, version: str, status: VersionStatus, why: StatusReason
) -> Skill:
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if known.status is status or known.status is VersionStatus.WITHDRAWN:
        raise Conflict(f"{listing.name} {version} is already {known.status}.", code="version_taken_back")
    await set_version_status(db, listing, known, status, why)
    if await select_live_version(db, listing) is None and listing.standing is ListingStatus.LIVE:
        await set_listing_status(db, listing, ListingStatus.WITHDRAWN, why, kind=ChangeKind.TOMBSTONE)
    await record_audit(db, why.by, f"version_{status}", listing.name, {"version": version, "reason": why.message})
    return await lock_skill(db, name)


async def _hide_listing(
    db: AsyncConnection, name: str, standing: ListingStatus, why: StatusReason, kind: ChangeKind
) -> Skill:
    listing = await lock_skill(db, name)
    if listing.standing is not ListingStatus.LIVE:
        raise Conflict(f"{listing.name} is already {listing.standing}.", code="not_live")
    await set_listing_status(db, listing, standing, why, kind=kind)
    await record_audit(db, why.by, f"skill_{standing}", listing.name, {"reason": why.message})
    return await lock_skill(db, name)


async def _must_not_be_blocked(db: AsyncConnection, listing: Skill) -> None:
    entry = await check_blocklist(db, await blocklist_target_of(db, listing))
    if entry is not None:
        raise Conflict(f"{listing.name} is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")


def _must_be_usable(listing: Skill, version: SkillVersion) -> None:
    if version.status is not VersionStatus.LIVE:
        raise Conflict(f"{listing.name} {version.version} is {version.status}.", code="version_taken_back")
