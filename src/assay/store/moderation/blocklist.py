"""The blocklist: its entries, and the listings and submissions they apply to."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CompoundSelect, and_, func, insert, or_, select, text, union, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.change import ChangeKind
from assay.model.finding import Severity
from assay.model.skill import (
    ListingStatus,
    Skill,
    repository_key,
)
from assay.store.database.locks import BLOCKLIST
from assay.store.repositories.repositories import former_names
from assay.store.skills.locks import lock_matching
from assay.store.tables import (
    blocklist_entry,
    change,
    repository,
    repository_alias,
    skill,
    skill_version,
    submission,
)

COLUMNS = (
    blocklist_entry.c.id,
    blocklist_entry.c.content_digest,
    blocklist_entry.c.repository,
    blocklist_entry.c.skill_name,
    blocklist_entry.c.everywhere,
    blocklist_entry.c.threat,
    blocklist_entry.c.severity,
    blocklist_entry.c.reason,
    blocklist_entry.c.evidence_urls,
    blocklist_entry.c.discovered_at,
    blocklist_entry.c.added_by,
    blocklist_entry.c.lifted_at,
)
IS_ACTIVE = blocklist_entry.c.lifted_at.is_(None)
# Publishing takes the lock shared, blocking takes it exclusively, so nothing is published past a new entry.


async def lock_blocklist_shared(db: AsyncConnection) -> None:
    """Keep entries from being added until the end of the transaction.

    Must be called before any row is locked, because adding an entry locks the blocklist first and then listings.
    """
    await db.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": BLOCKLIST})


async def find_block(db: AsyncConnection, target: BlocklistTarget) -> BlocklistEntry | None:
    """Return the entry that applies to a target. It stays valid until the end of the transaction."""
    return (await find_blocks(db, [target]))[0]


async def find_blocks(db: AsyncConnection, targets: Sequence[BlocklistTarget]) -> list[BlocklistEntry | None]:
    """Return the entry that applies to each target, if any. They stay valid until the end of the transaction."""
    await lock_blocklist_shared(db)
    return await check_blocklists(db, targets)


async def check_blocklists(db: AsyncConnection, targets: Sequence[BlocklistTarget]) -> list[BlocklistEntry | None]:
    """Return the entry that applies to each target, if any, without a lock."""
    if not targets:
        return []
    rows = await db.execute(
        select(*COLUMNS).where(IS_ACTIVE, or_(*map(_matches, targets))).order_by(blocklist_entry.c.id)
    )
    entries = [entry_of(row) for row in rows]
    return [next((entry for entry in entries if entry.target.applies_to(target)), None) for target in targets]


async def check_blocklist(db: AsyncConnection, target: BlocklistTarget) -> BlocklistEntry | None:
    """Return the entry that applies to a target, if any, without a lock."""
    return (await check_blocklists(db, [target]))[0]


async def list_blocklist(db: AsyncConnection, *, after: UUID | None = None, limit: int) -> list[BlocklistEntry]:
    """Return a page of active entries by id."""
    statement = select(*COLUMNS).where(IS_ACTIVE)
    if after is not None:
        statement = statement.where(blocklist_entry.c.id > after)
    return [entry_of(row) for row in await db.execute(statement.order_by(blocklist_entry.c.id).limit(limit))]


async def add_entry(db: AsyncConnection, entry: BlocklistEntry) -> None:
    """Add an entry, after waiting for transactions that are publishing."""
    await lock_blocklist(db)
    target = entry.target
    await db.execute(
        insert(blocklist_entry).values(
            id=entry.id,
            content_digest=target.content_digest,
            repository=target.repository,
            skill_name=target.skill_name,
            everywhere=target.everywhere,
            threat=entry.threat.value,
            severity=entry.severity.value,
            reason=entry.reason,
            evidence_urls=list(entry.evidence_urls),
            discovered_at=entry.discovered_at,
            added_by=entry.added_by,
        )
    )


async def lift_entry(db: AsyncConnection, entry_id: UUID, *, reason: str, by: str) -> BlocklistEntry | None:
    """Lift an entry; None if it is not active."""
    await lock_blocklist(db)
    statement = (
        update(blocklist_entry)
        .where(blocklist_entry.c.id == entry_id, IS_ACTIVE)
        .values(lifted_at=func.now(), lifted_by=by, lifted_reason=reason)
        .returning(*COLUMNS)
    )
    row = (await db.execute(statement)).one_or_none()
    return entry_of(row) if row else None


async def record_entry(db: AsyncConnection, entry: BlocklistEntry, kind: ChangeKind) -> None:
    """Record a change of the blocklist, for copies of it."""
    target = entry.target
    data = {
        "entry": str(entry.id),
        "digest": target.content_digest,
        "repository": target.repository,
        "skillName": target.skill_name,
        "threat": entry.threat.value,
        "severity": entry.severity.value,
        "reason": {"code": "blocklisted", "message": entry.reason},
    }
    await db.execute(insert(change).values(kind=kind.value, data=data))


def entry_of(row: Any) -> BlocklistEntry:
    return BlocklistEntry(
        id=row.id,
        target=BlocklistTarget(row.content_digest, row.repository, row.skill_name, row.everywhere),
        threat=Threat(row.threat),
        severity=Severity(row.severity),
        reason=row.reason,
        evidence_urls=tuple(row.evidence_urls),
        discovered_at=row.discovered_at,
        added_by=row.added_by,
        lifted_at=row.lifted_at,
    )


async def lock_blocklist(db: AsyncConnection) -> None:
    await db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": BLOCKLIST})


def _matches(target: BlocklistTarget) -> ColumnElement[bool]:
    """Match entries on the same content, on the repository or the skill in it, or on the name everywhere."""
    entry = blocklist_entry.c
    ways: list[ColumnElement[bool]] = []
    if target.content_digest is not None:
        ways.append(entry.content_digest == target.content_digest)
    if target.repository is not None:
        ways.append(
            and_(
                entry.repository.in_((target.repository, *target.former_names)),
                or_(entry.skill_name.is_(None), entry.skill_name == target.skill_name),
            )
        )
    if target.skill_name is not None:
        ways.append(and_(entry.everywhere, entry.skill_name == target.skill_name))
    return or_(*ways)


async def blocklist_target_of(db: AsyncConnection, listing: Skill) -> BlocklistTarget:
    """Return the target that entries would match for a listing and its live version."""
    number = (await db.execute(select(skill.c.repository_id).where(skill.c.id == listing.id))).scalar_one()
    called, slug = listing.name.rsplit("/", 1)
    former = {*(await former_names(db, [number])).get(number, ()), called}
    return BlocklistTarget(
        listing.content_digest, repository_key(listing.repository), slug, former_names=tuple(sorted(former))
    )


async def lock_targets(db: AsyncConnection, target: BlocklistTarget) -> list[Skill]:
    """Lock the listings that an entry matches by repository or name."""
    conditions = []
    if target.repository is not None:
        conditions.append(_is_in_repository(target.repository))
    if target.skill_name is not None:
        conditions.append(func.split_part(skill.c.name, "/", 3) == target.skill_name)
    return await lock_matching(db, *conditions)


async def lock_blocked(db: AsyncConnection, target: BlocklistTarget, code: str) -> list[Skill]:
    """Lock the listings that are blocked because of such an entry."""
    is_down = (skill.c.standing == ListingStatus.BLOCKED.value) & (skill.c.standing_code == code)
    if target.content_digest is not None:
        holders = select(skill_version.c.skill_id).where(skill_version.c.content_digest == target.content_digest)
        return await lock_matching(db, is_down, skill.c.id.in_(holders))
    return [each for each in await lock_targets(db, target) if each.standing is ListingStatus.BLOCKED]


def _is_in_repository(key: str) -> ColumnElement[bool]:
    """Match listings named after this repository, and those of the repository under any of its names."""
    is_called = skill.c.name.startswith(f"{key}/", autoescape=True)
    return or_(is_called, skill.c.repository_id.in_(_repositories_named(key)))


def _repositories_named(key: str) -> CompoundSelect[int]:
    host_name = repository.c.owner + "/" + repository.c.name
    alias_name = repository_alias.c.owner + "/" + repository_alias.c.name
    return union(
        select(repository.c.id).where(func.lower(host_name) == key),
        select(repository_alias.c.repository_id).where(alias_name == key),
    )


async def blocked_submissions(db: AsyncConnection, target: BlocklistTarget, code: str) -> list[UUID]:
    """Return the submissions that an entry may have blocked: those of its content or repository, else all blocked."""
    statement = select(submission.c.id).where(submission.c.reason_code == code, submission.c.state == "BLOCKED")
    if target.content_digest is not None:
        statement = statement.where(submission.c.content_digest == target.content_digest)
    if target.repository is not None:
        statement = statement.where(submission.c.repository_id.in_(_repositories_named(target.repository)))
    return list((await db.execute(statement)).scalars())
