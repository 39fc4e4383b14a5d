"""Names that lead to listings though they are not theirs: those they had before, and the last part alone."""

from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.skills.skills import IS_LIVE
from assay.store.tables import skill, skill_alias

# More choices help nobody.
MOST_CHOICES = 20


async def other_names(db: AsyncConnection, wanted: str) -> tuple[str, ...]:
    """The names of the listings that are meant by a name that none has: all that had it, else all live ones whose last
    part it is.
    """
    by_alias = select(skill.c.name).join_from(skill_alias, skill).where(skill_alias.c.alias == wanted)
    found = await _names(db, by_alias)
    if found or "/" in wanted:
        return found
    return await _names(db, select(skill.c.name).where(func.split_part(skill.c.name, "/", 3) == wanted, IS_LIVE))


async def aliases_of(db: AsyncConnection, skill_id: UUID) -> list[str]:
    """The other names that lead to a listing, unless another is called so now."""
    statement = select(skill_alias.c.alias).where(skill_alias.c.skill_id == skill_id).order_by(skill_alias.c.alias)
    return list((await db.execute(statement)).scalars())


async def _names(db: AsyncConnection, statement: Select[str]) -> tuple[str, ...]:
    ordered = statement.order_by(skill.c.stars.desc().nulls_last(), skill.c.name).limit(MOST_CHOICES)
    return tuple((await db.execute(ordered)).scalars())
