"""The catalogue: the listing that is meant by a name, and those that came or changed last."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Ambiguous, Gone, NotFound
from assay.model.listing_status import Standing
from assay.model.skill import Skill
from assay.store.skills.names import other_names
from assay.store.skills.skills import find_skill, get_skill, list_first_published, list_newest


async def read_newest(db: AsyncConnection, limit: int) -> list[Skill]:
    """Last updated first, without a total, for whoever has the number already."""
    return await list_newest(db, limit)


async def read_first_published(db: AsyncConnection, limit: int) -> list[Skill]:
    """The listings that were published first the shortest time ago."""
    return await list_first_published(db, limit)


async def find_listing(db: AsyncConnection, wanted: str) -> Skill:
    """The one live listing that is meant by a name, which may be an old one of it or the last part alone.

    Whoever asked by another name sees so by the name of the answer. Raises NotFound, Gone with the reason, or
    Ambiguous with the names of all that could be meant: a guess would hand out somebody else's skill.
    """
    skill = await find_any_listing(db, wanted)
    if skill.standing is not Standing.LIVE:
        raise gone_skill(skill)
    return skill


async def find_any_listing(db: AsyncConnection, wanted: str) -> Skill:
    """The same for one that need not be live."""
    if "\x00" in wanted:  # the database would refuse the question instead of answering it
        raise NotFound(f"There is no skill {wanted}.", code="skill_not_found")
    return await find_skill(db, wanted) or await _by_another_name(db, wanted)


def gone_skill(skill: Skill) -> Gone:
    """What is told about a listing that is not live."""
    why = skill.remark.message if skill.remark else "no reason is known"
    details = {"reason": skill.remark.message, "since": skill.remark.at} if skill.remark else {}
    return Gone(f"{skill.name} is {skill.standing}: {why}", code=f"skill_{skill.standing}", **details)


async def _by_another_name(db: AsyncConnection, wanted: str) -> Skill:
    names = await other_names(db, wanted.lower())
    if len(names) > 1:
        raise Ambiguous(f"Several skills are called {wanted}: {', '.join(names)}.", choices=names)
    return await get_skill(db, names[0] if names else wanted)
