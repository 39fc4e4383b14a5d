"""Block and unblock: an entry of the blocklist, and everything that is published of what it is about."""

from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.naming import slug_of
from assay.model.skill import Skill
from assay.model.standing import Remark, Standing, VersionStatus
from assay.model.submission import TRANSITIONS, State
from assay.store.audit import record_audit
from assay.store.blocklist import add_entry, check_blocklist, lift_entry, record_entry
from assay.store.listings import (
    fall_back,
    lock_blocked,
    lock_targets,
    set_standing,
    set_status,
    submissions_of,
    versions_with,
)
from assay.store.selection import lock_by_ids
from assay.store.transitions import Move, Step, move_all

CODE = "blocklisted"


def checked_target(target: Target) -> Target:
    """What may be blocked, as it is compared. Raises Invalid for what is too wide or means nothing."""
    repository = target.repository.strip().lower().removesuffix(".git") if target.repository else None
    name = slug_of(target.skill_name) if target.skill_name else None
    if target.content_digest is not None and (repository or name):
        raise Invalid("contentDigest: bytes are blocked everywhere; name nothing else.", code="bad_target")
    if repository is not None and repository.count("/") != 1:
        raise Invalid("repository: must look like owner/name.", code="bad_target")
    if target.everywhere != (name is not None and repository is None and target.content_digest is None):
        raise Invalid("skillName: name its repository too, or say `everywhere` if you mean all.", code="bad_target")
    if target.content_digest is None and repository is None and name is None:
        raise Invalid("Say what to block: contentDigest, repository, or skillName.", code="bad_target")
    return Target(target.content_digest, repository, name, target.everywhere)


async def block(db: AsyncConnection, entry: BlocklistEntry) -> list[str]:
    """Add an entry and take down what it is about. Returns the names of the listings that changed."""
    try:
        async with db.begin_nested():
            await add_entry(db, entry)
    except IntegrityError as known:
        raise Conflict("That is on the blocklist already.", code="already_blocked") from known
    why = Remark(CODE, f"{entry.threat}: {entry.reason}", entry.discovered_at, entry.added_by)
    if entry.target.content_digest is not None:
        listings = await versions_with(db, entry.target.content_digest)
        for listing, version in listings:
            if version.status is not VersionStatus.WITHDRAWN:
                await set_status(db, listing, version, VersionStatus.WITHDRAWN, why)
            if await fall_back(db, listing) is None:
                await _take_down(db, listing, why)
        touched = [listing for listing, _ in listings]
    else:
        touched = [each for each in await lock_targets(db, entry.target) if each.standing is not Standing.BLOCKED]
        for listing in touched:
            await _take_down(db, listing, why)
    await record_entry(db, entry, ChangeKind.BLOCK)
    await record_audit(db, entry.added_by, "blocklist_added", str(entry.id), {"skills": len(touched)})
    return [listing.name for listing in touched]


async def unblock(db: AsyncConnection, entry_id: UUID, *, reason: str, by: str) -> list[str]:
    """Lift an entry, and bring back what nothing else blocks. Returns the names of the listings that are back."""
    entry = await lift_entry(db, entry_id, reason=reason, by=by)
    if entry is None:
        raise NotFound(f"There is no entry {entry_id} on the blocklist.", code="entry_not_found")
    restored: list[Skill] = []
    if entry.target.content_digest is not None:
        for listing, version in await versions_with(db, entry.target.content_digest):
            if version.status is VersionStatus.WITHDRAWN and version.remark and version.remark.code == CODE:
                await set_status(db, listing, version, VersionStatus.LIVE, None)
                await fall_back(db, listing)
    for listing in await lock_blocked(db, entry.target, CODE):
        if await check_blocklist(db, _target_of(listing)) is None:
            await set_standing(db, listing, Standing.LIVE, None, kind=ChangeKind.RESTORE)
            restored.append(listing)
    await record_entry(db, entry, ChangeKind.UNBLOCK)
    await record_audit(db, by, "blocklist_lifted", str(entry.id), {"reason": reason, "skills": len(restored)})
    return [listing.name for listing in restored]


async def _take_down(db: AsyncConnection, listing: Skill, why: Remark) -> None:
    await set_standing(db, listing, Standing.BLOCKED, why, kind=ChangeKind.TOMBSTONE)
    found = await lock_by_ids(db, await submissions_of(db, listing.id))
    moves = [
        Move(
            each,
            (Step(State.BLOCKED, CODE, {"reason": CODE}),),
            why.by,
            {"reason_code": CODE, "reason_message": why.message, "next_step": None},
        )
        for each in found.values()
        if State.BLOCKED in TRANSITIONS[each.state]
    ]
    await move_all(db, moves)


def _target_of(listing: Skill) -> Target:
    owner, repository, slug = listing.name.split("/")
    return Target(listing.content_digest, f"{owner}/{repository}", slug)
