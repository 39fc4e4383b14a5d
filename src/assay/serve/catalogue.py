"""The catalogue: pages of listings, and the one that is meant by a name."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Ambiguous, Gone, NotFound
from assay.model.skill import Skill
from assay.model.standing import Standing
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.store.counts import count_skills
from assay.store.names import other_names
from assay.store.skills import find_skill, get_skill, list_skills

# What the cursors of this list are marked with.
CURSORS = "skills"


@dataclass(frozen=True)
class CataloguePage:
    """A page of listings."""

    skills: list[Skill]
    total: int
    next_cursor: str | None


async def read_catalogue(db: AsyncConnection, *, cursor: str | None, limit: int) -> CataloguePage:
    """Last updated first."""
    before = decode_cursor(cursor, CURSORS, tuple[datetime, UUID]) if cursor is not None else None
    found = await list_skills(db, before=before, limit=limit + 1)
    page = found[:limit]
    more = encode_cursor(CURSORS, (page[-1].updated_at, page[-1].id)) if len(found) > limit else None
    return CataloguePage(page, await count_skills(db), more)


async def read_newest(db: AsyncConnection, limit: int) -> list[Skill]:
    """The first page without its total, for whoever has the number already."""
    return await list_skills(db, before=None, limit=limit)


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
