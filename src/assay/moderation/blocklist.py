"""Block and unblock: an entry of the blocklist, and everything that is published of what it is about."""

from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.listing_status import Remark, Standing, VersionStatus
from assay.model.naming import repository_key, slug_of
from assay.model.skill import Skill, SkillVersion
from assay.model.submission import TRANSITIONS, State
from assay.operations.requeue import give_back
from assay.store.moderation.blocklist import add_entry, check_blocklist, check_blocklists, lift_entry, record_entry
from assay.store.operations.audit import record_audit
from assay.store.repositories.repositories import former_names
from assay.store.skills.skills import list_versions
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Move, Step, move_all
from assay.store.versions.status import (
    blocked_submissions,
    fall_back,
    find_yank,
    lock_blocked,
    lock_targets,
    set_standing,
    set_status,
    submissions_of,
    target_of,
    versions_with,
)

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
        touched = await lock_targets(db, entry.target)
        for listing in touched:
            await _take_down(db, listing, why)
    await record_entry(db, entry, ChangeKind.BLOCK)
    await record_audit(db, entry.added_by, "blocklist_added", str(entry.id), {"skills": len(touched)})
    return [listing.name for listing in touched]


async def unblock(db: AsyncConnection, entry_id: UUID, *, reason: str, by: str) -> list[str]:
    """Lift an entry, and bring back what nothing else blocks: listings at once, and what was not published because of
    it is looked at again. Returns the names of the listings that are back.
    """
    entry = await lift_entry(db, entry_id, reason=reason, by=by)
    if entry is None:
        raise NotFound(f"There is no entry {entry_id} on the blocklist.", code="entry_not_found")
    if entry.target.content_digest is not None:
        for listing, version in await versions_with(db, entry.target.content_digest):
            if version.status is VersionStatus.WITHDRAWN and version.remark and version.remark.code == CODE:
                await _give_back_version(db, listing, version, by)
    restored = [each for each in await lock_blocked(db, entry.target, CODE) if await _bring_back(db, each)]
    reopened = await _look_again(db, entry.target, by=by, reason=reason)
    await record_entry(db, entry, ChangeKind.UNBLOCK)
    detail = {"reason": reason, "skills": len(restored), "submissions": reopened}
    await record_audit(db, by, "blocklist_lifted", str(entry.id), detail)
    return [listing.name for listing in restored]


async def _give_back_version(db: AsyncConnection, listing: Skill, version: SkillVersion, by: str) -> None:
    """As it was before: live, or yanked."""
    yanked = await find_yank(db, listing, version, by)
    await set_status(db, listing, version, VersionStatus.YANKED if yanked else VersionStatus.LIVE, yanked)
    await fall_back(db, listing, back=None if yanked else version)


async def _bring_back(db: AsyncConnection, listing: Skill) -> bool:
    """Whether nothing else blocks it and a version of it may be used."""
    if await check_blocklist(db, await target_of(db, listing)) is not None:
        return False
    if await fall_back(db, listing) is not None:
        await set_standing(db, listing, Standing.LIVE, None, kind=ChangeKind.RESTORE)
        return True
    newest = (await list_versions(db, listing.id))[0]
    await set_standing(db, listing, Standing.WITHDRAWN, newest.remark, kind=ChangeKind.TOMBSTONE)
    return False


async def _look_again(db: AsyncConnection, target: Target, *, by: str, reason: str) -> int:
    """A new round for the submissions that nothing else keeps from being published. Returns how many there are."""
    found = await lock_by_ids(db, await blocked_submissions(db, target, CODE))
    former = await former_names(db, [each.repository.id for each in found.values()])
    named = [
        (
            each,
            Target(
                each.content_digest,
                repository_key(each.repository.name),
                slug_of(each.skill_name),
                former_names=former.get(each.repository.id, ()),
            ),
        )
        for each in found.values()
    ]
    concerned = [(each, asked) for each, asked in named if target.is_about(asked)]
    others = await check_blocklists(db, [asked for _, asked in concerned])
    freed = [each for (each, _), other in zip(concerned, others, strict=True) if other is None]
    await give_back(db, freed, by=by, reason=reason, trigger="unblocked")
    return len(freed)


async def _take_down(db: AsyncConnection, listing: Skill, why: Remark) -> None:
    """What its owner took down, or whose source is gone, stays so; the list is asked before it may come back."""
    if listing.standing in (Standing.LIVE, Standing.WITHDRAWN):
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
