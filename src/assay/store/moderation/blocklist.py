"""The blocklist: what is on it, and whether something is."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target, Threat
from assay.model.change import ChangeKind
from assay.model.finding import Severity
from assay.store.tables import blocklist_entry, change

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
HOLDS = blocklist_entry.c.lifted_at.is_(None)
# Whoever publishes holds this with others, whoever blocks holds it alone: nothing is published past a fresh entry.
LOCK = 20_261_116


async def hold_blocklist(db: AsyncConnection) -> None:
    """Nothing is added to the list until the end of the transaction. To be called before any row is locked: whoever
    blocks holds the list first and the listings after.
    """
    await db.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": LOCK})


async def find_block(db: AsyncConnection, target: Target) -> BlocklistEntry | None:
    """The entry that this content, skill or repository is on, until the end of the transaction."""
    return (await find_blocks(db, [target]))[0]


async def find_blocks(db: AsyncConnection, targets: Sequence[Target]) -> list[BlocklistEntry | None]:
    """The entry that each of these is on, if any, until the end of the transaction."""
    await hold_blocklist(db)
    return await check_blocklists(db, targets)


async def check_blocklists(db: AsyncConnection, targets: Sequence[Target]) -> list[BlocklistEntry | None]:
    """The same for whoever only wants to know, without keeping anybody waiting."""
    if not targets:
        return []
    rows = await db.execute(select(*COLUMNS).where(HOLDS, or_(*map(_meets, targets))).order_by(blocklist_entry.c.id))
    entries = [entry_of(row) for row in rows]
    return [next((entry for entry in entries if entry.target.is_about(target)), None) for target in targets]


async def check_blocklist(db: AsyncConnection, target: Target) -> BlocklistEntry | None:
    """The same for one."""
    return (await check_blocklists(db, [target]))[0]


async def list_blocklist(db: AsyncConnection, *, after: UUID | None = None, limit: int) -> list[BlocklistEntry]:
    """What holds, in the order of the ids."""
    statement = select(*COLUMNS).where(HOLDS)
    if after is not None:
        statement = statement.where(blocklist_entry.c.id > after)
    return [entry_of(row) for row in await db.execute(statement.order_by(blocklist_entry.c.id).limit(limit))]


async def add_entry(db: AsyncConnection, entry: BlocklistEntry) -> None:
    """Put it on the list; whoever is publishing right now is waited for."""
    await hold_blocklist_alone(db)
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
    """Take it off the list; None if it is not on it."""
    await hold_blocklist_alone(db)
    statement = (
        update(blocklist_entry)
        .where(blocklist_entry.c.id == entry_id, HOLDS)
        .values(lifted_at=func.now(), lifted_by=by, lifted_reason=reason)
        .returning(*COLUMNS)
    )
    row = (await db.execute(statement)).one_or_none()
    return entry_of(row) if row else None


async def record_entry(db: AsyncConnection, entry: BlocklistEntry, kind: ChangeKind) -> None:
    """One entry of the feed about the list, for those who keep a copy of it."""
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
    """A row of COLUMNS as a value."""
    return BlocklistEntry(
        id=row.id,
        target=Target(row.content_digest, row.repository, row.skill_name, row.everywhere),
        threat=Threat(row.threat),
        severity=Severity(row.severity),
        reason=row.reason,
        evidence_urls=tuple(row.evidence_urls),
        discovered_at=row.discovered_at,
        added_by=row.added_by,
        lifted_at=row.lifted_at,
    )


async def hold_blocklist_alone(db: AsyncConnection) -> None:
    await db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})


def _meets(target: Target) -> ColumnElement[bool]:
    """Whether an entry is about this: the same bytes, its repository or the skill in it, or its name anywhere."""
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
