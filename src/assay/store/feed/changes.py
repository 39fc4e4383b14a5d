"""The change feed: every committed change once, in an order that late commits cannot change.

A number assigned before the commit may become visible after a higher one, and a reader past the higher one would
miss it. Rows are therefore written without a serial. `number_changes` assigns serials later, and only to rows of
transactions older than every open transaction (the snapshot horizon), so that nothing can appear before them. One
process numbers at a time, so serials have no gaps.

The order is that of ids, not of transactions: a transaction that waited for a lock may be older than the one that
held the lock, and still writes after it. Committed rows therefore also wait for uncommitted rows with lower ids.

There are two notifications: `assay_change` when a transaction with changes commits (sent by a trigger), and
`assay_serial` with the highest serial when changes have been numbered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.skill import (
    Skill,
    StatusReason,
)
from assay.store.database.locks import CHANGE_NUMBERING
from assay.store.tables import change, repository, submission

COLUMNS = (
    change.c.serial,
    change.c.kind,
    change.c.submission_id,
    change.c.skill_id,
    change.c.data,
    change.c.created_at,
)
NUMBER_AT_MOST = 10_000

NUMBER = text(
    """
    WITH unsettled AS (
        SELECT min(id) AS id FROM change
        WHERE serial IS NULL AND transaction_id >= pg_snapshot_xmin(pg_current_snapshot())
    ), settled AS (
        SELECT id, row_number() OVER (ORDER BY id) AS position
        FROM (
            SELECT change.id FROM change, unsettled
            WHERE serial IS NULL AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
                AND (unsettled.id IS NULL OR change.id < unsettled.id)
            ORDER BY change.id
            LIMIT :at_most
        ) AS oldest
    ), last AS (
        SELECT coalesce(max(serial), 0) AS serial FROM change
    ), numbered AS (
        UPDATE change SET serial = last.serial + settled.position
        FROM settled, last
        WHERE change.id = settled.id
        RETURNING change.serial
    ), highest AS (
        SELECT max(serial) AS serial, count(*) AS count FROM numbered
    )
    SELECT
        highest.count,
        highest.count = :at_most OR (SELECT id FROM unsettled) IS NOT NULL AS is_waiting,
        CASE WHEN highest.count > 0 THEN pg_notify('assay_serial', highest.serial::text) END
    FROM highest
    """
)


@dataclass(frozen=True, slots=True)
class Change:
    serial: int
    kind: str
    submission_id: UUID | None
    skill_id: UUID | None
    data: Mapping[str, object]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Numbering:
    """The number of changes numbered, and whether others are still waiting for a serial."""

    count: int
    is_waiting: bool


@dataclass(frozen=True, slots=True)
class QueueChange:
    """A change with facts about its submission, if it has one."""

    serial: int
    kind: str
    submission_id: UUID | None
    skill_id: UUID | None
    skill_name: str | None
    owner: str | None
    repository: str | None
    submitter: str | None
    data: Mapping[str, object]
    created_at: datetime


async def number_changes(db: AsyncConnection) -> int:
    """Assign serials to settled changes and return how many; 0 if another process is numbering."""
    return (await number_settled(db)).count


async def number_settled(db: AsyncConnection) -> Numbering:
    """Assign serials like `number_changes`, and report whether to try again."""
    locked = await db.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": CHANGE_NUMBERING})
    if not locked.scalar_one():
        # The other process may have started before the latest commit.
        return Numbering(0, is_waiting=True)
    count, is_waiting, _ = (await db.execute(NUMBER, {"at_most": NUMBER_AT_MOST})).one()
    return Numbering(count, is_waiting)


async def newest_serial(db: AsyncConnection) -> int:
    """Return the highest serial; 0 if there is none."""
    newest = await db.execute(select(func.coalesce(func.max(change.c.serial), 0)))
    return int(newest.scalar_one())


async def newest_change(db: AsyncConnection, kinds: tuple[str, ...]) -> Change | None:
    statement = (
        select(*COLUMNS)
        .where(change.c.serial.is_not(None), change.c.kind.in_(kinds))
        .order_by(change.c.serial.desc())
        .limit(1)
    )
    row = (await db.execute(statement)).one_or_none()
    return Change(*row) if row else None


async def read_changes(
    db: AsyncConnection, since: int, limit: int, kinds: tuple[str, ...] | None = None
) -> list[Change]:
    statement = select(*COLUMNS).where(change.c.serial > since)
    if kinds is not None:
        statement = statement.where(change.c.kind.in_(kinds))
    return [Change(*row) for row in await db.execute(statement.order_by(change.c.serial).limit(limit))]


async def read_queue_changes(db: AsyncConnection, since: int, limit: int) -> list[QueueChange]:
    """Return the changes after a serial, in order, with facts about their submissions."""
    joined = change.outerjoin(submission, change.c.submission_id == submission.c.id).outerjoin(
        repository, submission.c.repository_id == repository.c.id
    )
    statement = select(
        change.c.serial,
        change.c.kind,
        change.c.submission_id,
        change.c.skill_id,
        submission.c.skill_name,
        repository.c.owner,
        repository.c.name,
        submission.c.submitter,
        change.c.data,
        change.c.created_at,
    ).select_from(joined)
    ordered = statement.where(change.c.serial > since).order_by(change.c.serial).limit(limit)
    rows: Iterable[Sequence[Any]] = await db.execute(ordered)
    return [QueueChange(*row) for row in rows]


async def record_batch(db: AsyncConnection, batch: UUID, count: int, about: Mapping[str, str | None]) -> None:
    """Record a batch as one change; the change of each submission carries the id of the batch."""
    data = {"batch": str(batch), "count": count, **about}
    await db.execute(insert(change).values(kind="bulk", data=data))


async def record_change(
    db: AsyncConnection, kind: ChangeKind, listing: Skill, reason: StatusReason | None, **more: object
) -> None:
    """Record a change of a listing; `more` is added to its data."""
    data: dict[str, Any] = {"name": listing.name, **more}
    if reason:
        data["reason"] = {"code": reason.code, "message": reason.message}
    await db.execute(insert(change).values(kind=kind.value, skill_id=listing.id, data=data))
