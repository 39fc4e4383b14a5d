"""Write down which repository this really is, as its host says, and let its listings follow it."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import Target
from assay.model.change import ChangeKind
from assay.model.listing_status import Remark, Standing
from assay.model.naming import repository_key, slug_in
from assay.model.repository import Repository, RepositoryFacts
from assay.store.moderation.blocklist import check_blocklists, hold_blocklist
from assay.store.repositories.repositories import Recorded, record_resolution
from assay.store.versions.status import (
    adopt_listings,
    is_any_behind,
    lock_listings,
    lock_misnamed,
    record_change,
    rename,
    set_standing,
    update_stars,
)


async def record_identity(
    db: AsyncConnection, known: Repository, facts: RepositoryFacts, *, commit: str, resolved_at: datetime
) -> Repository:
    """The canonical repository; nothing is written if nothing is new."""
    if (known.host_id, known.name, known.commit) == (facts.host_id, facts.name, commit):
        return known
    await hold_blocklist(db)
    recorded = await record_resolution(
        db,
        known,
        name=facts.name,
        host_id=facts.host_id,
        default_branch=facts.default_branch,
        stars=facts.stars,
        commit=commit,
        resolved_at=resolved_at,
    )
    await _follow(db, known, recorded, stars=facts.stars)
    return recorded.repository


async def _follow(db: AsyncConnection, known: Repository, recorded: Recorded, *, stars: int | None) -> None:
    """Let the listings of a repository have its name and its stars. Old names lead to them.

    A listing whose new name or folder is taken stays as it is: what is there already came first. One whose new name is
    on the blocklist is taken down.
    """
    canonical = recorded.repository
    has_others = canonical.id != known.id and await adopt_listings(db, known.id, canonical.id)
    key = repository_key(canonical.name)
    # Each listing tells where it comes from.
    has_moved = has_others or recorded.former != canonical.name
    if not has_moved and not await is_any_behind(db, canonical.id, key, stars):
        return
    await update_stars(db, canonical.id, stars)
    listings = await (lock_listings(db, canonical.id) if has_moved else lock_misnamed(db, canonical.id, key))
    renamed = []
    for listing in listings:
        if not listing.name.startswith(f"{key}/") and await rename(db, listing, f"{key}/{slug_in(listing.name)}"):
            renamed.append(listing)
        elif has_moved and listing.standing is Standing.LIVE:
            said = {"version": listing.current_version, "digest": listing.content_digest}
            await record_change(db, ChangeKind.UPDATE, listing, None, **said)
    targets = [Target(listing.content_digest, key, slug_in(listing.name)) for listing in renamed]
    for listing, entry in zip(renamed, await check_blocklists(db, targets), strict=True):
        if entry is not None and listing.standing is Standing.LIVE:
            why = Remark("blocklisted", f"{entry.threat}: {entry.reason}", entry.discovered_at, entry.added_by)
            called = replace(listing, name=f"{key}/{slug_in(listing.name)}")
            await set_standing(db, called, Standing.BLOCKED, why, kind=ChangeKind.TOMBSTONE)
