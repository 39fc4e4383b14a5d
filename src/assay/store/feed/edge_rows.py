"""The rows that the edge copy consists of, read in sets."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Text, Uuid, any_, func, literal, or_, select, text, union
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import ACTIVE, Submission
from assay.model.verdict import Scan
from assay.store.database.locks import EDGE_COPIES, EDGE_REBUILDS, lock_key
from assay.store.moderation.blocklist import COLUMNS as BLOCK_COLUMNS
from assay.store.moderation.blocklist import IS_ACTIVE, entry_of
from assay.store.scans.scans import list_all_scans
from assay.store.skills.skills import IS_LIVE, SKILLS, skill_of
from assay.store.submissions.submissions import read_submissions, submission_of
from assay.store.tables import blocklist_entry, change, content, skill, skill_alias, skill_version, submission
from assay.store.versions.versions import VERSION_COLUMNS, version_of

LOCK = text("SELECT pg_try_advisory_xact_lock(:locks, :number)")
WAIT = text("SELECT pg_advisory_xact_lock(:locks, :number)")


@dataclass(frozen=True)
class Details:
    """Versions, files and scans of a listing."""

    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


@dataclass(frozen=True, slots=True)
class Lag:
    """The number of changes that the edge copy has not applied, and when the first of them was made."""

    newest: int
    waiting: int
    since: datetime | None
    now: datetime


async def try_lock_copy(db: AsyncConnection, identity: str) -> bool:
    """Lock an edge copy for writing until the end of the transaction; False if another process holds the lock."""
    return bool((await db.execute(LOCK, {"locks": EDGE_COPIES, "number": lock_key(identity)})).scalar_one())


async def wait_for_copy(db: AsyncConnection, identity: str) -> None:
    """Lock an edge copy for writing, waiting for the process that holds the lock."""
    await db.execute(WAIT, {"locks": EDGE_COPIES, "number": lock_key(identity)})


async def try_lock_rebuild(db: AsyncConnection, identity: str) -> bool:
    """Lock the rebuild of an edge copy until the end of the transaction; False if another process holds the lock."""
    return bool((await db.execute(LOCK, {"locks": EDGE_REBUILDS, "number": lock_key(identity)})).scalar_one())


async def keep_transaction_alive(db: AsyncConnection) -> None:
    """Run a statement, so that the database does not end the transaction as idle."""
    await db.execute(text("SELECT 1"))


async def skills_of(db: AsyncConnection, ids: Collection[UUID], names: Collection[str]) -> list[Skill]:
    """Return the listings with these ids or names, whatever their status."""
    is_requested = or_(skill.c.id == _any_id(ids), skill.c.name == _any_text(names))
    return [skill_of(row) for row in await db.execute(SKILLS.where(is_requested))]


async def live_skills(db: AsyncConnection, after: UUID | None, limit: int) -> list[Skill]:
    """Return a page of live listings by id."""
    statement = SKILLS.where(IS_LIVE)
    if after is not None:
        statement = statement.where(skill.c.id > after)
    return [skill_of(row) for row in await db.execute(statement.order_by(skill.c.id).limit(limit))]


async def live_names(db: AsyncConnection, names: Collection[str]) -> set[str]:
    """Return the names among these that belong to live listings."""
    return set((await db.execute(select(skill.c.name).where(skill.c.name == _any_text(names), IS_LIVE))).scalars())


async def known_names(db: AsyncConnection, names: Collection[str]) -> set[str]:
    """Return the names among these that any listing has or had."""
    by_name = select(skill.c.name).where(skill.c.name == _any_text(names))
    by_alias = select(skill_alias.c.alias).where(skill_alias.c.alias == _any_text(names))
    return set((await db.execute(union(by_name, by_alias))).scalars())


async def details_of(db: AsyncConnection, skills: Sequence[Skill]) -> dict[UUID, Details]:
    """Return the details of listings, with a fixed number of statements."""
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
    return set((await db.execute(select(skill_alias.c.alias).where(skill_alias.c.skill_id == _any_id(ids)))).scalars())


async def resolve_aliases(db: AsyncConnection, aliases: Collection[str]) -> dict[str, list[str]]:
    """Return the live listings that each alias leads to; aliases without any are left out."""
    statement = select(skill_alias.c.alias, skill.c.name).join_from(skill_alias, skill)
    found = statement.where(skill_alias.c.alias == _any_text(aliases), IS_LIVE)
    names_by_alias: dict[str, list[str]] = {}
    for alias, name in await db.execute(found.order_by(skill.c.stars.desc().nulls_last(), skill.c.name)):
        names_by_alias.setdefault(alias, []).append(name)
    return names_by_alias


async def count_orphaned_aliases(db: AsyncConnection) -> int:
    """Count aliases that lead to no live listing."""
    statement = select(func.count()).select_from(skill_alias).join(skill)
    return int((await db.execute(statement.where(~IS_LIVE))).scalar_one())


async def list_active_submissions(
    db: AsyncConnection, *, ids: Collection[UUID] | None = None, after: UUID | None = None, limit: int | None = None
) -> list[Submission]:
    """Return active submissions with these ids, or a page by id."""
    is_active = submission.c.state.in_([state.value for state in ACTIVE])
    statement = read_submissions().where(is_active)
    if ids is not None:
        statement = statement.where(submission.c.id == _any_id(ids))
    if after is not None:
        statement = statement.where(submission.c.id > after)
    return [submission_of(row) for row in await db.execute(statement.order_by(submission.c.id).limit(limit))]


async def active_entries(db: AsyncConnection, ids: Collection[UUID]) -> list[BlocklistEntry]:
    """Return the entries among these that are still on the blocklist."""
    statement = select(*BLOCK_COLUMNS).where(blocklist_entry.c.id == _any_id(ids), IS_ACTIVE)
    return [entry_of(row) for row in await db.execute(statement)]


async def skills_changed_since(db: AsyncConnection, serial: int, limit: int) -> set[UUID]:
    """Return listings with changes that the edge copy cannot have yet: after its serial, or not yet numbered."""
    later = or_(change.c.serial > serial, change.c.serial.is_(None))
    statement = select(change.c.skill_id).where(later, change.c.skill_id.is_not(None)).distinct().limit(limit)
    return {number for number in (await db.execute(statement)).scalars() if number is not None}


async def read_lag(db: AsyncConnection, serial: int) -> Lag:
    """Return how far an edge copy with this serial is behind."""
    # Both use an index, so the cost depends neither on the lag nor on the number of changes.
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
