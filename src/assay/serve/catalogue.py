"""The catalogue: pages of listings, and one of them with its versions, files and findings."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Ambiguous, Gone, NotFound
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.standing import Standing
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.store.contents import list_files
from assay.store.counts import count_skills
from assay.store.names import other_names
from assay.store.scans import list_scans
from assay.store.skills import find_skill, get_skill, list_first_published, list_skills, list_versions

# What the cursors of this list are marked with.
CURSORS = "skills"


@dataclass(frozen=True)
class CataloguePage:
    """A page of listings."""

    skills: list[Skill]
    total: int
    next_cursor: str | None


@dataclass(frozen=True)
class SkillDetail:
    """A listing, its versions (newest first), and the files and scans of the live one."""

    skill: Skill
    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


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


async def read_first_published(db: AsyncConnection, limit: int) -> list[Skill]:
    """The listings that were published first the shortest time ago."""
    return await list_first_published(db, limit)


async def find_listing(db: AsyncConnection, wanted: str) -> Skill:
    """The one live listing that is meant by a name, which may be an old one of it or the last part alone.

    Whoever asked by another name sees so by the name of the answer. Raises NotFound, Gone with the reason, or
    Ambiguous with the names of all that could be meant: a guess would hand out somebody else's skill.
    """
    if "\x00" in wanted:  # the database would refuse the question instead of answering it
        raise NotFound(f"There is no skill {wanted}.", code="skill_not_found")
    skill = await find_skill(db, wanted) or await _by_another_name(db, wanted)
    if skill.standing is not Standing.LIVE:
        why = skill.remark.message if skill.remark else "no reason is known"
        raise Gone(f"{skill.name} is {skill.standing}: {why}", code=f"skill_{skill.standing}")
    return skill


async def _by_another_name(db: AsyncConnection, wanted: str) -> Skill:
    names = await other_names(db, wanted.lower())
    if len(names) > 1:
        raise Ambiguous(f"Several skills are called {wanted}: {', '.join(names)}.", choices=names)
    return await get_skill(db, names[0] if names else wanted)


async def read_skill(db: AsyncConnection, name: str) -> SkillDetail:
    """One live listing with all that is known of it; see `find_listing`."""
    skill = await find_listing(db, name)
    return SkillDetail(
        skill,
        await list_versions(db, skill.id),
        await list_files(db, skill.content_digest),
        await list_scans(db, skill.content_digest),
    )
