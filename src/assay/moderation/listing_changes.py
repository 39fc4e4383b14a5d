"""Changes that owners make to whole listings: rename, move, delete and undelete, each with an audit event.

Each function returns the changed listing. The caller has checked that the actor owns the listing.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.errors import Conflict, Invalid
from assay.model.namespace import UPLOADS_COLLECTION, namespace_of
from assay.model.repository import Host, RepositoryName
from assay.model.skill import RESTORABLE_FOR, ListingStatus, Skill, StatusReason, slug_in, slug_of
from assay.moderation.withdraw import restore
from assay.store.moderation.blocklist import lock_blocklist_shared
from assay.store.operations.audit import record_audit
from assay.store.people.namespaces import lock_namespace
from assay.store.repositories.repositories import find_or_add_repositories
from assay.store.scans.stored_blobs import keep_blobs
from assay.store.skills.locks import lock_skill
from assay.store.skills.moves import has_active_submission, move_listing_row, set_name_chosen
from assay.store.skills.rename import rename_checked
from assay.store.versions.status import set_listing_status
from assay.store.versions.versions import list_versions

# A deleted listing may be in any of these before.
DELETABLE = frozenset({ListingStatus.LIVE, ListingStatus.UNLISTED, ListingStatus.GONE, ListingStatus.WITHDRAWN})
MAX_SLUG_LENGTH = 100


async def rename(db: AsyncConnection, name: str, new_name: str, *, by: str) -> Skill:
    """Change the last part of the name; the old name leads to the listing. Raises Invalid or Conflict."""
    slug = slug_of(new_name)
    if not slug or len(slug) > MAX_SLUG_LENGTH:
        raise Invalid(f"name: use 1 to {MAX_SLUG_LENGTH} letters, digits and dashes.", code="bad_skill_name")
    await lock_blocklist_shared(db)
    listing = await lock_skill(db, name)
    target = f"{listing.name.rpartition('/')[0]}/{slug}"
    if target != listing.name and not await rename_checked(db, listing, target, listing.repository):
        raise _taken(target)
    await set_name_chosen(db, listing.id)
    await record_audit(db, by, "skill_renamed", listing.name, {"to": target})
    return await lock_skill(db, target)


async def lock_for_move(db: AsyncConnection, listing: Skill, namespace: str) -> None:
    """Lock both namespaces, in order, so that no upload is admitted to either of them before the move is done."""
    for each in sorted({namespace_of(listing.name), namespace.lower()}):
        await lock_namespace(db, each)


async def move_to_namespace(db: AsyncConnection, name: str, namespace: str, *, by: str) -> Skill:
    """Move an uploaded skill to another namespace, with its submissions. Raises Invalid for skills of a repository,
    whose namespace is that of the repository.
    """
    await lock_blocklist_shared(db)
    listing = await lock_skill(db, name)
    if listing.repository.host is not Host.UPLOAD:
        raise Invalid(
            f"{listing.name} comes from a repository and has its owner's namespace. Transfer the repository instead.",
            code="not_an_upload",
        )
    await _require_idle(db, listing)
    uploads = RepositoryName(Host.UPLOAD, namespace, UPLOADS_COLLECTION)
    target, slug = (await find_or_add_repositories(db, [uploads]))[uploads.key], slug_in(listing.name)
    new_name = f"{namespace}/{UPLOADS_COLLECTION}/{slug}"
    if new_name == listing.name:
        return listing
    if not await rename_checked(db, listing, new_name, uploads):
        raise _taken(new_name)
    await move_listing_row(db, listing.id, target.id, author=namespace)
    await record_audit(db, by, "skill_moved", listing.name, {"to": new_name})
    return await lock_skill(db, new_name)


async def delete(db: AsyncConnection, name: str, why: StatusReason) -> Skill:
    """Remove a listing and all its versions from everywhere; the owner may undo it or publish again."""
    listing = await lock_skill(db, name)
    if listing.standing not in DELETABLE:
        raise Conflict(f"{listing.name} is {listing.standing} and cannot be deleted.", code="not_deletable")
    await set_listing_status(db, listing, ListingStatus.DELETED, why, kind=ChangeKind.TOMBSTONE)
    await record_audit(db, why.by, "skill_deleted", listing.name, {"reason": why.message})
    return await lock_skill(db, name)


async def undelete(db: AsyncConnection, name: str, *, by: str, reason: str) -> Skill:
    """Restore a deleted listing. Raises Conflict if it is blocklisted, has no usable version, or its files are gone."""
    restored = await restore(db, name, of=ListingStatus.DELETED, by=by, reason=reason)
    digests = [version.content_digest for version in await list_versions(db, restored.id)]
    if restored.content_digest not in await keep_blobs(db, digests):
        raise Conflict(
            f"{restored.name} was deleted more than {RESTORABLE_FOR.days} days ago, and its files were deleted since."
            " Publish it again.",
            code="files_deleted",
        )
    return restored


async def _require_idle(db: AsyncConnection, listing: Skill) -> None:
    if await has_active_submission(db, listing.id):
        raise Conflict(
            f"An upload of {listing.name} is being processed. Move the listing when it is decided.",
            code="upload_under_way",
        )


def _taken(name: str) -> Conflict:
    return Conflict(f"The name {name} is taken.", code="name_taken")
