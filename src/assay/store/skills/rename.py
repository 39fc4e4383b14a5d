"""Renaming listings. Old names become aliases, and a listing whose new name is on the blocklist is blocked."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistTarget
from assay.model.change import ChangeKind
from assay.model.repository import RepositoryName
from assay.model.skill import ListingStatus, Skill, StatusReason, repository_key, slug_in
from assay.store.moderation.blocklist import check_blocklists
from assay.store.skills.names import rename_listing
from assay.store.versions.status import set_listing_status


async def rename_checked(db: AsyncConnection, listing: Skill, name: str, repository: RepositoryName) -> bool:
    """Rename a locked listing; False if the name belongs to another one. The blocklist is locked before."""
    if not await rename_listing(db, listing, name):
        return False
    await block_renamed(db, [replace(listing, name=name)], repository)
    return True


async def block_renamed(db: AsyncConnection, renamed: Sequence[Skill], repository: RepositoryName) -> None:
    """Block those of the renamed listings whose new names are on the blocklist."""
    key = repository_key(repository)
    targets = [BlocklistTarget(listing.content_digest, key, slug_in(listing.name)) for listing in renamed]
    for listing, entry in zip(renamed, await check_blocklists(db, targets), strict=True):
        if entry is not None and listing.standing is ListingStatus.LIVE:
            why = StatusReason("blocklisted", f"{entry.threat}: {entry.reason}", entry.discovered_at, entry.added_by)
            await set_listing_status(db, listing, ListingStatus.BLOCKED, why, kind=ChangeKind.TOMBSTONE)
