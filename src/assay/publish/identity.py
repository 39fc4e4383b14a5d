"""Write down which repository this really is, as its host says."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.fetch.source import Resolution
from assay.model.blocklist import Target
from assay.model.change import ChangeKind
from assay.model.naming import repository_key, slug_in
from assay.model.repository import Repository
from assay.model.standing import Remark, Standing
from assay.store.blocklist import check_blocklists, hold_blocklist
from assay.store.listings import (
    adopt_listings,
    lock_misnamed,
    record_change,
    rename,
    set_standing,
    update_stars,
)
from assay.store.repositories import record_resolution


async def record_identity(db: AsyncConnection, known: Repository, resolution: Resolution) -> Repository:
    """The canonical repository; nothing is written if nothing is new."""
    facts = resolution.facts
    if (known.host_id, known.name, known.commit) == (facts.host_id, facts.name, resolution.commit):
        return known
    await hold_blocklist(db)
    canonical = await record_resolution(
        db,
        known,
        name=facts.name,
        host_id=facts.host_id,
        default_branch=facts.default_branch,
        stars=facts.stars,
        commit=resolution.commit,
        resolved_at=resolution.resolved_at,
    )
    await follow_repository(db, known, canonical, stars=facts.stars)
    return canonical


async def follow_repository(
    db: AsyncConnection, known: Repository, canonical: Repository, *, stars: int | None
) -> None:
    """Let the listings of a repository have its name and its stars. Old names lead to them.

    A listing whose new name or folder is taken stays as it is: what is there already came first. One whose new name is
    on the blocklist is taken down: `hold_blocklist` is called by whoever calls this.
    """
    if canonical.id != known.id:
        await adopt_listings(db, known.id, canonical.id)
    await update_stars(db, canonical.id, stars)
    key = repository_key(canonical.name)
    misnamed = await lock_misnamed(db, canonical.id, key)
    renamed = []
    for listing in misnamed:
        if await rename(db, listing, f"{key}/{slug_in(listing.name)}"):
            renamed.append(listing)
        elif known.name != canonical.name:
            said = {"version": listing.current_version, "digest": listing.content_digest}
            await record_change(db, ChangeKind.UPDATE, listing, None, **said)
    targets = [Target(listing.content_digest, key, slug_in(listing.name)) for listing in renamed]
    for listing, entry in zip(renamed, await check_blocklists(db, targets), strict=True):
        if entry is not None and listing.standing is Standing.LIVE:
            why = Remark("blocklisted", f"{entry.threat}: {entry.reason}", entry.discovered_at, entry.added_by)
            called = replace(listing, name=f"{key}/{slug_in(listing.name)}")
            await set_standing(db, called, Standing.BLOCKED, why, kind=ChangeKind.TOMBSTONE)
