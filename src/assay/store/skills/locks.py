"""Row locks on listings, taken in the order of ids and before any lock on their submissions.

`key_share` locks let others insert rows that refer to the listing.
"""

from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill import (
    Skill,
)
from assay.store.skills.skills import SKILLS, get_skill, skill_of
from assay.store.tables import (
    skill,
)


async def lock_skill(db: AsyncConnection, name: str) -> Skill:
    """Lock the listing with this name until the end of the transaction. Raises NotFound."""
    await db.execute(select(skill.c.id).where(skill.c.name == name.lower()).with_for_update(key_share=True))
    return await get_skill(db, name)


async def lock_listing_by_id(db: AsyncConnection, skill_id: UUID | None) -> None:
    """Lock the listing, if there is one, before its submissions are locked."""
    await db.execute(select(skill.c.id).where(skill.c.id == skill_id).with_for_update(key_share=True))


async def lock_listings(db: AsyncConnection, repository_id: int) -> list[Skill]:
    """Lock the listings of a repository until the end of the transaction."""
    return await lock_matching(db, skill.c.repository_id == repository_id)


async def lock_misnamed(db: AsyncConnection, repository_id: int, key: str) -> list[Skill]:
    """Lock the listings of a repository whose names do not start with its name."""
    misnamed = ~skill.c.name.startswith(f"{key}/", autoescape=True)
    return await lock_matching(db, skill.c.repository_id == repository_id, misnamed)


async def lock_matching(db: AsyncConnection, *conditions: ColumnElement[bool]) -> list[Skill]:
    ids = list(
        (
            await db.execute(select(skill.c.id).where(*conditions).order_by(skill.c.id).with_for_update(key_share=True))
        ).scalars()
    )
    if not ids:
        return []
    return [skill_of(row) for row in await db.execute(SKILLS.where(skill.c.id.in_(ids)).order_by(skill.c.id))]
