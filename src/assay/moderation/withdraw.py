"""After publishing: yank, withdraw, deprecate, tag, unlist and bring back, each with its reason, audited.

The last good version stays live: what is taken back falls back to the one before. Only where none is left, the listing
goes too, and says why.
"""

import re
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid
from assay.model.listing_status import Remark, Standing, VersionStatus
from assay.model.skill import Skill, SkillVersion
from assay.model.submission import Reason
from assay.store.moderation.blocklist import check_blocklist, hold_blocklist
from assay.store.operations.audit import record_audit
from assay.store.skills.skills import find_name
from assay.store.versions.status import (
    fall_back,
    get_version,
    lock_skill,
    remove_tag,
    set_deprecation,
    set_standing,
    set_status,
    set_tag,
    target_of,
)

TAG = re.compile(r"[a-z][a-z0-9._-]{0,39}")
LONGEST_REASON = 1_000


def remark(code: str, reason: str, *, at: datetime, by: str) -> Remark:
    """Why, in the words of who did it. Raises Invalid without a reason."""
    said = " ".join("".join(each if each.isprintable() else " " for each in reason).split())
    if not 3 <= len(said) <= LONGEST_REASON:
        raise Invalid(f"reason: say why in 3 to {LONGEST_REASON} characters.", code="bad_reason")
    return Remark(code, said, at, by)


async def yank(db: AsyncConnection, name: str, version: str, why: Remark) -> Skill:
    """Nobody gets this version any more who does not ask for exactly it."""
    return await _take_back(db, name, version, VersionStatus.YANKED, why)


async def withdraw(db: AsyncConnection, name: str, version: str, why: Remark) -> Skill:
    """Nobody gets this version any more."""
    return await _take_back(db, name, version, VersionStatus.WITHDRAWN, why)


async def unyank(db: AsyncConnection, name: str, version: str, *, by: str, reason: str | None = None) -> Skill:
    """A yanked version may be used again; if the listing was without one, it is back."""
    await hold_blocklist(db)
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if known.status is not VersionStatus.YANKED:
        raise Conflict(f"{listing.name} {version} is {known.status}, not yanked.", code="version_not_yanked")
    await set_status(db, listing, known, VersionStatus.LIVE, None)
    await fall_back(db, listing, back=known)
    if listing.standing is Standing.WITHDRAWN:
        await _must_not_be_blocked(db, listing)
        await set_standing(db, listing, Standing.LIVE, None, kind=ChangeKind.RESTORE)
    await record_audit(db, by, "version_unyanked", listing.name, {"version": version, "reason": reason})
    return await lock_skill(db, name)


async def deprecate(
    db: AsyncConnection, name: str, version: str, why: Remark | None, *, by: str, reason: str | None = None
) -> Skill:
    """Say that a version is better not used any more; without a reason, take that back."""
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if why is None and known.deprecation is None:
        raise Conflict(f"{listing.name} {version} is not deprecated.", code="version_not_deprecated")
    await set_deprecation(db, listing, known, why)
    action = "version_deprecated" if why else "version_undeprecated"
    await record_audit(db, by, action, listing.name, {"version": version, "reason": why.message if why else reason})
    return listing


async def tag_version(db: AsyncConnection, name: str, tag: str, version: str | None, *, by: str) -> Skill:
    """Let a tag point to a usable version, or take it away."""
    if not TAG.fullmatch(tag) or tag == "latest":
        raise Invalid("tag: 1 to 40 of a–z, 0–9, dot, dash and underscore, and not `latest`.", code="bad_tag")
    listing = await lock_skill(db, name)
    if version is None:
        await remove_tag(db, listing, tag)
    else:
        known = await get_version(db, listing, version)
        _must_be_usable(listing, known)
        await set_tag(db, listing, tag, known)
    await record_audit(db, by, "skill_tagged", listing.name, {"tag": tag, "version": version})
    return listing


async def unlist(db: AsyncConnection, name: str, why: Remark) -> Skill:
    """Take a live listing down, as its owner wishes."""
    return await _take_down(db, name, Standing.UNLISTED, why, ChangeKind.UNLIST)


async def tombstone(db: AsyncConnection, name: str, why: Remark) -> Skill:
    """Take a live listing down, because its source is gone."""
    return await _take_down(db, name, Standing.GONE, why, ChangeKind.TOMBSTONE)


async def take_down_listing(db: AsyncConnection, skill_id: UUID, reason: Reason, *, at: datetime) -> None:
    """The same for whoever knows the listing by its id; nothing if it is not live any more."""
    name = await find_name(db, skill_id)
    if name is not None and (await lock_skill(db, name)).standing is Standing.LIVE:
        await tombstone(db, name, Remark(reason.code, reason.message, at, "worker"))


async def restore(db: AsyncConnection, name: str, *, of: Standing, by: str, reason: str | None = None) -> Skill:
    """Bring back a listing that was taken down in this way, and in no other, if a version of it may be used."""
    await hold_blocklist(db)
    listing = await lock_skill(db, name)
    if listing.standing is not of:
        raise Conflict(f"{listing.name} is {listing.standing}, not {of}.", code="not_restorable")
    await _must_not_be_blocked(db, listing)
    if await fall_back(db, listing) is None:
        raise Conflict(f"No version of {listing.name} may be used; unyank one first.", code="no_usable_version")
    await set_standing(db, listing, Standing.LIVE, None, kind=ChangeKind.RESTORE)
    await record_audit(db, by, "skill_restored", listing.name, {"from": of.value, "reason": reason})
    return await lock_skill(db, name)


async def _take_back(db: AsyncConnection, name: str, version: str, status: VersionStatus, why: Remark) -> Skill:
    listing = await lock_skill(db, name)
    known = await get_version(db, listing, version)
    if known.status is status or known.status is VersionStatus.WITHDRAWN:
        raise Conflict(f"{listing.name} {version} is {known.status} already.", code="version_taken_back")
    await set_status(db, listing, known, status, why)
    if await fall_back(db, listing) is None and listing.standing is Standing.LIVE:
        await set_standing(db, listing, Standing.WITHDRAWN, why, kind=ChangeKind.TOMBSTONE)
    await record_audit(db, why.by, f"version_{status}", listing.name, {"version": version, "reason": why.message})
    return await lock_skill(db, name)


async def _take_down(db: AsyncConnection, name: str, standing: Standing, why: Remark, kind: ChangeKind) -> Skill:
    listing = await lock_skill(db, name)
    if listing.standing is not Standing.LIVE:
        raise Conflict(f"{listing.name} is {listing.standing} already.", code="not_live")
    await set_standing(db, listing, standing, why, kind=kind)
    await record_audit(db, why.by, f"skill_{standing}", listing.name, {"reason": why.message})
    return await lock_skill(db, name)


async def _must_not_be_blocked(db: AsyncConnection, listing: Skill) -> None:
    entry = await check_blocklist(db, await target_of(db, listing))
    if entry is not None:
        raise Conflict(f"{listing.name} is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")


def _must_be_usable(listing: Skill, version: SkillVersion) -> None:
    if version.status is not VersionStatus.LIVE:
        raise Conflict(f"{listing.name} {version.version} is {version.status}.", code="version_taken_back")
