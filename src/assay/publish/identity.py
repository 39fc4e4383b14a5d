"""Write down which repository this really is, as its host says."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.fetch.source import Resolution
from assay.model.naming import repository_key
from assay.model.repository import Repository
from assay.store.listings import adopt_listings, is_name_taken, lock_misnamed, rename, update_stars
from assay.store.repositories import record_resolution


async def record_identity(db: AsyncConnection, known: Repository, resolution: Resolution) -> Repository:
    """The canonical repository; nothing is written if nothing is new."""
    facts = resolution.facts
    if (known.host_id, known.name, known.commit) == (facts.host_id, facts.name, resolution.commit):
        return known
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

    A listing whose new name or folder is taken stays as it is: what is there already came first.
    """
    if canonical.id != known.id:
        await adopt_listings(db, known.id, canonical.id)
    await update_stars(db, canonical.id, stars)
    for listing in await lock_misnamed(db, canonical.id, repository_key(canonical.name)):
        name = f"{repository_key(canonical.name)}/{listing.name.rpartition('/')[2]}"
        if not await is_name_taken(db, name):
            await rename(db, listing, name)
