"""Blocking and unblocking, with the effects on listings and submissions."""

from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, BlocklistTarget
from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.skill import ListingStatus, Skill, SkillVersion, StatusReason, VersionStatus, repository_key, slug_of
from assay.model.submission import TRANSITIONS, State
from assay.operations.requeue import reopen_and_enqueue
from assay.store.moderation.blocklist import (
    add_entry,
    blocked_submissions,
    blocklist_target_of,
    check_blocklist,
    check_blocklists,
    lift_entry,
    lock_blocked,
    lock_targets,
    record_entry,
)
from assay.store.operations.audit import record_audit
from assay.store.repositories.repositories import former_names
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.submissions import list_ids_of_skill
from assay.store.submissions.transitions import Move, Step, move_all
from assay.store.versions.status import (
    find_yank_reason,
    lock_versions_with,
    select_live_version,
    set_listing_status,
    set_version_status,
)
from assay.store.versions.versions import list_versions

CODE = "blocklisted"


def normalise_target(target: BlocklistTarget) -> BlocklistTarget:
    """Return the target in the form used for comparison. Raises Invalid if it is empty, contradictory or too wide."""
    repository = target.repository.strip().lower().removesuffix(".git") if target.repository else None
    name = slug_of(target.skill_name) if target.skill_name else None
    if target.content_digest is not None and (repository or name):
        raise Invalid(
            "contentDigest blocks this content in every repository; leave out repository and skillName.",
            code="bad_target",
        )
    if repository is not None and repository.count("/") != 1:
        raise Invalid("repository must look like owner/name.", code="bad_target")
    if target.everywhere != (name is not None and repository is None and target.content_digest is None):
        raise Invalid(
            "skillName needs a repository, or `everywhere: true` to block the name in all repositories.",
            code="bad_target",
        )
    if target.content_digest is None and repository is None and name is None:
        raise Invalid("Give a target: contentDigest, repository or skillName.", code="bad_target")
    return BlocklistTarget(target.content_digest, repository, name, target.everywhere)


async def block(db: AsyncConnection, entry: BlocklistEntry) -> list[str]:
    """Add an entry and block the listings it applies to; return their names. Raises Conflict if it exists."""
    try:
        async with db.begin_nested():
            await add_entry(db, entry)
    except IntegrityError as known:
        raise Conflict("This target is already on the blocklist.", code="already_blocked") from known
    why = StatusReason(CODE, f"{entry.threat}: {entry.reason}", entry.discovered_at, entry.added_by)
    if entry.target.content_digest is not None:
        listings = await lock_versions_with(db, entry.target.content_digest)
        for listing, version in listings:
            if version.status is not VersionStatus.WITHDRAWN:
                await set_version_status(db, listing, version, VersionStatus.WITHDRAWN, why)
            if await select_live_version(db, listing) is None:
                await _block_listing(db, listing, why)
        touched = [listing for listing, _ in listings]
    else:
        touched = await lock_targets(db, entry.target)
        for listing in touched:
            await _block_listing(db, listing, why)
    await record_entry(db, entry, ChangeKind.BLOCK)
    await record_audit(db, entry.added_by, "blocklist_added", str(entry.id), {"skills": len(touched)})
    return [listing.name for listing in touched]


async def unblock(db: AsyncConnection, entry_id: UUID, *, reason: str, by: str) -> list[str]:
    """Lift an entry; return the names of the restored listings.

    Listings that no other entry blocks are restored at once; submissions that were blocked start a new cycle.
    """
    entry = await lift_entry(db, entry_id, reason=reason, by=by)
    if entry is None:
        raise NotFound(f"The blocklist has no entry {entry_id}.", code="entry_not_found")
    if entry.target.content_digest is not None:
        for listing, version in await lock_versions_with(db, entry.target.content_digest):
            if version.status is VersionStatus.WITHDRAWN and version.remark and version.remark.code == CODE:
                await _restore_version(db, listing, version, by)
    restored = [each for each in await lock_blocked(db, entry.target, CODE) if await _restore_listing(db, each)]
    reopened = await _requeue_blocked(db, entry.target, by=by, reason=reason)
    await record_entry(db, entry, ChangeKind.UNBLOCK)
    detail = {"reason": reason, "skills": len(restored), "submissions": reopened}
    await record_audit(db, by, "blocklist_lifted", str(entry.id), detail)
    return [listing.name for listing in restored]


async def _restore_version(db: AsyncConnection, listing: Skill, version: SkillVersion, by: str) -> None:
    """Restore a version to its former status: live or yanked."""
    yanked = await find_yank_reason(db, listing, version, by)
    await set_version_status(db, listing, version, VersionStatus.YANKED if yanked else VersionStatus.LIVE, yanked)
    await select_live_version(db, listing, back=None if yanked else version)


async def _restore_listing(db: AsyncConnection, listing: Skill) -> bool:
    """Restore a listing unless another entry blocks it or no version may be used; return whether it is live."""
    if await check_blocklist(db, await blocklist_target_of(db, listing)) is not None:
        return False
    if await select_live_version(db, listing) is not None:
        await set_listing_status(db, listing, ListingStatus.LIVE, None, kind=ChangeKind.RESTORE)
        return True
    newest = (await list_versions(db, listing.id))[0]
    await set_listing_status(db, listing, ListingStatus.WITHDRAWN, newest.remark, kind=ChangeKind.TOMBSTONE)
    return False


async def _requeue_blocked(db: AsyncConnection, target: BlocklistTarget, *, by: str, reason: str) -> int:
    """Start a new cycle for submissions that no other entry blocks; return their number."""
    found = await lock_by_ids(db, await blocked_submissions(db, target, CODE))
    former = await former_names(db, [each.repository.id for each in found.values()])
    candidates = [
        (
            each,
            BlocklistTarget(
                each.content_digest,
                repository_key(each.repository.name),
                slug_of(each.skill_name),
                former_names=former.get(each.repository.id, ()),
            ),
        )
        for each in found.values()
    ]
    affected = [(each, skill) for each, skill in candidates if target.applies_to(skill)]
    others = await check_blocklists(db, [skill for _, skill in affected])
    freed = [each for (each, _), other in zip(affected, others, strict=True) if other is None]
    await reopen_and_enqueue(db, freed, by=by, reason=reason, trigger="unblocked")
    return len(freed)


async def _block_listing(db: AsyncConnection, listing: Skill, why: StatusReason) -> None:
    """Block a listing and its submissions. Unlisted and gone listings keep their status; restoring one checks the
    blocklist.
    """
    if listing.standing in (ListingStatus.LIVE, ListingStatus.WITHDRAWN):
        await set_listing_status(db, listing, ListingStatus.BLOCKED, why, kind=ChangeKind.TOMBSTONE)
    found = await lock_by_ids(db, await list_ids_of_skill(db, listing.id))
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
