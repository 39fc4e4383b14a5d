"""What the copy at the edge is made of, read in sets: listings, their details, other names, what is under way."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zlib import crc32

from sqlalchemy import ARRAY, ColumnElement, Text, Uuid, any_, func, literal, or_, select, text, union
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import ACTIVE, Submission
from assay.store.moderation.blocklist import COLUMNS as BLOCK_COLUMNS
from assay.store.moderation.blocklist import HOLDS, entry_of
from assay.store.scans.scans import list_all_scans
from assay.store.skills.skills import IS_LIVE, SKILLS, VERSION_COLUMNS, skill_of, version_of
from assay.store.submissions.submissions import read_submissions, submission_of
from assay.store.tables import blocklist_entry, change, content, skill, skill_alias, skill_version, submission

LOCKS, REBUILDS = 20_261_117, 20_261_118
LOCK = text("SELECT pg_try_advisory_xact_lock(:locks, :number)")
WAIT = text("SELECT pg_advisory_xact_lock(:locks, :number)")


@dataclass(frozen=True)
class Details:
    """What the page of a listing shows besides the listing."""

    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


@dataclass(frozen=True, slots=True)
class Lag:
    """How many changes have a serial that the copy has not reached, and since when the first of them waits."""

    newest: int
    waiting: int
    since: datetime | None
    now: datetime


async def lock_copy(db: AsyncConnection, identity: str) -> bool:
    """Nobody else writes to this copy until the end of the transaction; False if somebody does so already."""
    return bool((await db.execute(LOCK, {"locks": LOCKS, "number": _number(identity)})).scalar_one())


async def wait_for_copy(db: AsyncConnection, identity: str) -> None:
    """The same, after whoever does so has finished."""
    await db.execute(WAIT, {"locks": LOCKS, "number": _number(identity)})


async def lock_rebuild(db: AsyncConnection, identity: str) -> bool:
    """Nobody else rebuilds this copy until the end of the transaction; False if somebody does so already."""
    return bool((await db.execute(LOCK, {"locks": REBUILDS, "number": _number(identity)})).scalar_one())


async def stay_awake(db: AsyncConnection) -> None:
    """A transaction in which nothing happens for long is ended by the database."""
    await db.execute(text("SELECT 1"))


async def skills_of(db: AsyncConnection, ids: Collection[UUID], names: Collection[str]) -> list[Skill]:
    """The listings with these ids or these names, live or not."""
    wanted = or_(skill.c.id == _any_id(ids), skill.c.name == _any_text(names))
    return [skill_of(row) for row in await db.execute(SKILLS.where(wanted))]


async def live_skills(db: AsyncConnection, after: UUID | None, limit: int) -> list[Skill]:
    """Live listings in the order of their ids."""
    statement = SKILLS.where(IS_LIVE)
    if after is not None:
        statement = statement.where(skill.c.id > after)
    return [skill_of(row) for row in await db.execute(statement.order_by(skill.c.id).limit(limit))]


async def live_names(db: AsyncConnection, names: Collection[str]) -> set[str]:
    """Those of these names that live listings have."""
    return set((await db.execute(select(skill.c.name).where(skill.c.name == _any_text(names), IS_LIVE))).scalars())


async def known_names(db: AsyncConnection, names: Collection[str]) -> set[str]:
    """Those of these names that any listing has or had."""
    named = select(skill.c.name).where(skill.c.name == _any_text(names))
    aliased = select(skill_alias.c.alias).where(skill_alias.c.alias == _any_text(names))
    return set((await db.execute(union(named, aliased))).scalars())


async def details_of(db: AsyncConnection, skills: Sequence[Skill]) -> dict[UUID, Details]:
    """The details of listings, in as many statements for a thousand as for one."""
    ids, digests = [each.id for each in skills], list({each.content_digest for each in skills})
    statement = select(skill_version.c.skill_id, *VERSION_COLUMNS).where(skill_version.c.skill_id == _any_id(ids))
    versions: dict[UUID, list[SkillVersion]] = {number: [] for number in ids}
    for row in await db.execute(statement.order_by(skill_version.c.ordinal.desc())):
        versions[row.skill_id].append(version_of(row))
    contents = await db.execute(select(content.c.digest, content.c.files).where(content.c.digest == _any_text(digests)))
    files = {digest: [FileEntry(*each) for each in entries] for digest, entries in contents}
    scans = await list_all_scans(db, digests)
    return {
        each.id: Details(versions[each.id], files.get(each.content_digest, []), scans.get(each.content_digest, []))
        for each in skills
    }


async def aliases_of(db: AsyncConnection, ids: Collection[UUID]) -> set[str]:
    """The other names of listings."""
    return set((await db.execute(select(skill_alias.c.alias).where(skill_alias.c.skill_id == _any_id(ids)))).scalars())


async def resolve_aliases(db: AsyncConnection, aliases: Collection[str]) -> dict[str, list[str]]:
    """The live listings that each of these names leads to; a name that leads to none is left out."""
    statement = select(skill_alias.c.alias, skill.c.name).join_from(skill_alias, skill)
    wanted = statement.where(skill_alias.c.alias == _any_text(aliases), IS_LIVE)
    led: dict[str, list[str]] = {}
    for alias, name in await db.execute(wanted.order_by(skill.c.stars.desc().nulls_last(), skill.c.name)):
        led.setdefault(alias, []).append(name)
    return led


async def count_orphaned_aliases(db: AsyncConnection) -> int:
    """Other names that lead to no live listing."""
    statement = select(func.count()).select_from(skill_alias).join(skill)
    return int((await db.execute(statement.where(~IS_LIVE))).scalar_one())


async def submissions_under_way(
    db: AsyncConnection, *, ids: Collection[UUID] | None = None, after: UUID | None = None, limit: int | None = None
) -> list[Submission]:
    """Active submissions: these, or a page in the order of their ids."""
    is_active = submission.c.state.in_([state.value for state in ACTIVE])
    statement = read_submissions().where(is_active)
    if ids is not None:
        statement = statement.where(submission.c.id == _any_id(ids))
    if after is not None:
        statement = statement.where(submission.c.id > after)
    return [submission_of(row) for row in await db.execute(statement.order_by(submission.c.id).limit(limit))]


async def blocks_of(db: AsyncConnection, ids: Collection[UUID]) -> list[BlocklistEntry]:
    """Those of these entries of the blocklist that hold."""
    statement = select(*BLOCK_COLUMNS).where(blocklist_entry.c.id == _any_id(ids), HOLDS)
    return [entry_of(row) for row in await db.execute(statement)]


async def skills_changed_since(db: AsyncConnection, serial: int, limit: int) -> set[UUID]:
    """Listings with changes that the copy cannot have yet: after its serial, or without one."""
    later = or_(change.c.serial > serial, change.c.serial.is_(None))
    statement = select(change.c.skill_id).where(later, change.c.skill_id.is_not(None)).distinct().limit(limit)
    return {number for number in (await db.execute(statement)).scalars() if number is not None}


async def read_lag(db: AsyncConnection, serial: int) -> Lag:
    """How far the copy with this serial is behind."""
    # Both by an index, so that it costs the same however far behind a copy is, and however many changes there are.
    first = select(change.c.created_at).where(change.c.serial > serial).order_by(change.c.serial).limit(1)
    newest = select(func.coalesce(func.max(change.c.serial), 0)).scalar_subquery()
    unnumbered = select(func.count(), func.min(change.c.created_at)).where(change.c.serial.is_(None)).subquery()
    oldest = func.least(first.scalar_subquery(), unnumbered.c[1])
    row = (await db.execute(select(newest, unnumbered.c[0], oldest, func.now()))).one()
    return Lag(row[0], max(0, row[0] - serial) + row[1], row[2], row[3])


def _any_id(ids: Collection[UUID]) -> ColumnElement[UUID]:
    return any_(literal(list(ids), ARRAY(Uuid)))  # type: ignore[return-value]


def _any_text(texts: Collection[str]) -> ColumnElement[str]:
    return any_(literal(list(texts), ARRAY(Text)))  # type: ignore[return-value]


def _number(identity: str) -> int:
    number = crc32(identity.encode())
    return number - (1 << 32) if number >> 31 else number
