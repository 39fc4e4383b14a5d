"""Recording the identity of a repository as its host reports it, and updating its listings."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.errors import Invalid
from assay.model.repository import Repository, RepositoryFacts, RepositoryName
from assay.model.skill import ListingStatus, repository_key, slug_in
from assay.store.feed.changes import record_change
from assay.store.moderation.blocklist import lock_blocklist_shared
from assay.store.people.namespaces import take_github_name
from assay.store.repositories.repositories import RecordedRepository, record_resolution
from assay.store.skills.locks import lock_listings, lock_misnamed
from assay.store.skills.names import rename_listing
from assay.store.skills.rename import block_renamed
from assay.store.tables import (
    repository,
    skill,
)

ADOPT = text(
    """
    UPDATE skill SET repository_id = :to_id WHERE repository_id = :from_id
        AND EXISTS (SELECT FROM repository WHERE id = :from_id AND merged_into_id = :to_id)
        AND skill_path NOT IN (SELECT skill_path FROM skill WHERE repository_id = :to_id)
    """
)
# True if a listing does not start with the name of its repository, or has other stars.
HAS_OUTDATED = text(
    """
    SELECT EXISTS (
        SELECT FROM skill WHERE repository_id = :id
            AND (NOT starts_with(name, :beginning) OR stars IS DISTINCT FROM CAST(:stars AS integer))
    )
    """
)


async def record_identity(
    db: AsyncConnection, known: Repository, facts: RepositoryFacts, *, commit: str, resolved_at: datetime
) -> Repository:
    """Record what the host reports and return the canonical repository. Writes nothing if nothing changed.

    Raises Invalid if the owner's name belongs to another namespace here.
    """
    if (known.host_id, known.name, known.commit, known.owner_id) == (facts.host_id, facts.name, commit, facts.owner_id):
        return known
    if facts.owner_id is not None and not await take_github_name(db, facts.name.owner.lower(), facts.owner_id):
        raise namespace_taken_error(facts.name)
    await lock_blocklist_shared(db)
    recorded = await record_resolution(
        db,
        known,
        name=facts.name,
        host_id=facts.host_id,
        default_branch=facts.default_branch,
        stars=facts.stars,
        commit=commit,
        resolved_at=resolved_at,
        owner_id=facts.owner_id,
    )
    await _update_listings(db, known, recorded, stars=facts.stars)
    return recorded.repository


def namespace_taken_error(name: RepositoryName) -> Invalid:
    return Invalid(
        f"The namespace {name.owner.lower()} of this registry belongs to someone other than the present GitHub owner "
        f"{name.owner}. An operator can reassign it.",
        code="namespace_taken",
    )


async def _update_listings(
    db: AsyncConnection, known: Repository, recorded: RecordedRepository, *, stars: int | None
) -> None:
    """Give the listings the name and stars of their repository; old names become aliases.

    A listing keeps its name if the new one or its folder is taken. A listing whose new name is on the blocklist is
    blocked.
    """
    canonical = recorded.repository
    has_others = canonical.id != known.id and await adopt_listings(db, known.id, canonical.id)
    key = repository_key(canonical.name)
    # Live listings show their repository, so all of them change if it moved.
    has_moved = has_others or recorded.former != canonical.name
    if not has_moved and not await has_outdated_listing(db, canonical.id, key, stars):
        return
    await update_stars(db, canonical.id, stars)
    listings = await (lock_listings(db, canonical.id) if has_moved else lock_misnamed(db, canonical.id, key))
    renamed = []
    for listing in listings:
        if not listing.name.startswith(f"{key}/") and await rename_listing(
            db, listing, f"{key}/{slug_in(listing.name)}"
        ):
            renamed.append(replace(listing, name=f"{key}/{slug_in(listing.name)}"))
        elif has_moved and listing.standing is ListingStatus.LIVE:
            data = {"version": listing.current_version, "digest": listing.content_digest}
            await record_change(db, ChangeKind.UPDATE, listing, None, **data)
    await block_renamed(db, renamed, canonical.name)


async def has_outdated_listing(db: AsyncConnection, repository_id: int, key: str, stars: int | None) -> bool:
    values = {"id": repository_id, "beginning": f"{key}/", "stars": stars}
    return bool((await db.execute(HAS_OUTDATED, values)).scalar_one())


async def list_names_with_status(
    db: AsyncConnection, repository_id: int, standing: ListingStatus, code: str | None = None
) -> list[str]:
    """Return the names of listings of a repository with this status, and this reason code if given."""
    statement = select(skill.c.name).where(skill.c.repository_id == repository_id, skill.c.standing == standing.value)
    if code is not None:
        statement = statement.where(skill.c.standing_code == code)
    return list((await db.execute(statement.order_by(skill.c.name))).scalars())


async def adopt_listings(db: AsyncConnection, from_id: int, to_id: int) -> bool:
    """Move the listings of a merged row to its repository, except for folders that are already listed there.

    Returns whether any were moved.
    """
    return (await db.execute(ADOPT, {"from_id": from_id, "to_id": to_id})).rowcount > 0


async def update_stars(db: AsyncConnection, repository_id: int, stars: int | None) -> None:
    """Set the stars of a repository and its listings."""
    is_repository, is_different = repository.c.id == repository_id, repository.c.stars.is_distinct_from(stars)
    await db.execute(update(repository).where(is_repository, is_different).values(stars=stars))
    of_repository = skill.c.repository_id == repository_id
    await db.execute(update(skill).where(of_repository, skill.c.stars.is_distinct_from(stars)).values(stars=stars))
