"""Settling names at publishing: a name that its owner chose takes precedence over one that was derived."""

from itertools import islice

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.repository import RepositoryName
from assay.model.skill import ListingStatus, listing_name, slug_of
from assay.model.skill_names import natural_names
from assay.model.submission import Submission
from assay.store.operations.audit import record_audit
from assay.store.skills.locks import lock_skill
from assay.store.skills.rename import rename_checked
from assay.store.versions.publications import ExistingListing, lock_holder
from assay.store.versions.status import set_listing_status

# A listing that is not live any more does not keep a name from its owner.
YIELDING = frozenset({ListingStatus.DELETED, ListingStatus.UNLISTED, ListingStatus.GONE})
MAX_CANDIDATES = 100


async def free_name(db: AsyncConnection, submission: Submission, name: str) -> bool:
    """Rename the listing that has the name, so that a chosen name can be used; False if that listing keeps it."""
    holder = await lock_holder(db, name)
    if holder is None:
        return True
    if holder.is_name_chosen and holder.status not in YIELDING:
        return False
    listing = await lock_skill(db, holder.name)
    for candidate in _other_names(listing.repository, holder, name):
        if await rename_checked(db, listing, candidate, listing.repository):
            detail = {"from": name, "to": candidate, "submission": str(submission.id)}
            await record_audit(db, "worker", "skill_displaced", name, detail)
            return True
    return False


async def rename_to_chosen(db: AsyncConnection, submission: Submission, listed: ExistingListing, name: str) -> bool:
    """Give a listing the name that its owner chose; False if another listing keeps it."""
    if not await free_name(db, submission, name):
        return False
    listing = await lock_skill(db, listed.name)
    return await rename_checked(db, listing, name, submission.repository.name)


async def revive_deleted(db: AsyncConnection, listed: ExistingListing) -> None:
    """Make a deleted listing live again, because its owner publishes it."""
    if listed.status is ListingStatus.DELETED:
        listing = await lock_skill(db, listed.name)
        await set_listing_status(db, listing, ListingStatus.LIVE, None, kind=ChangeKind.RESTORE)


def _other_names(repository: RepositoryName, holder: ExistingListing, taken: str) -> list[str]:
    names = islice(natural_names(repository, holder.skill_path), MAX_CANDIDATES)
    listed = [listing_name(repository, each) for each in names if slug_of(each)]
    return [each for each in listed if each != taken]
