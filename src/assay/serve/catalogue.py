"""The catalogue: one listing with its versions, files and findings, and those that were last updated."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Ambiguous, Gone, NotFound
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.standing import Standing
from assay.store.contents import list_files
from assay.store.names import other_names
from assay.store.scans import list_scans
from assay.store.skills import find_skill, get_skill, list_first_published, list_newest, list_versions


@dataclass(frozen=True)
class SkillDetail:
    """A listing, its versions (newest first), and the files and scans of the live one."""

    skill: Skill
    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


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
