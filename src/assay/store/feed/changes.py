"""The change feed: every committed change once, in an order that no late commit can upset.

A number taken before a commit can become visible after a higher one, and a reader that has passed the
higher one would never see it. So rows are written without a serial. `number_changes` hands serials out
afterwards, only to rows of transactions older than every transaction still open (the snapshot horizon):
nothing can later appear among or before them. One numberer works at a time, so serials have no gaps.

The order is that of the ids, not of the transactions: whoever waited for a lock may be an older transaction than the
one that held it, and still writes about what that one left. So what has settled waits, too, if something that was
written before it has not.

Two notices go with it: `assay_change` when a transaction that wrote changes commits (a trigger of the table), and
`assay_serial` when they have serials, with the highest one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import change, repository, submission

COLUMNS = (
    change.c.serial,
    change.c.kind,
    change.c.submission_id,
    change.c.skill_id,
    change.c.data,
    change.c.created_at,
)
LOCK = 20_260_102
AT_MOST = 10_000

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
    """One entry of the feed."""

    serial: int
    kind: str
    submission_id: UUID | None
    skill_id: UUID | None
    data: Mapping[str, object]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Numbering:
    """How many changes got their serial, and whether some that are committed still wait for theirs."""

    count: int
    is_waiting: bool


@dataclass(frozen=True, slots=True)
class QueueChange:
    """One entry of the feed with the submission it is about, if it is about one."""

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
    """Hand out serials to what has settled; nothing if another process is doing so right now."""
    return (await number_settled(db)).count


async def number_settled(db: AsyncConnection) -> Numbering:
    """Like `number_changes`, for whoever wants to know when to try again."""
    locked = await db.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not locked.scalar_one():
        # The other one may have looked before the latest commit, so there may be more.
        return Numbering(0, is_waiting=True)
    count, is_waiting, _ = (await db.execute(NUMBER, {"at_most": AT_MOST})).one()
    return Numbering(count, is_waiting)


async def newest_serial(db: AsyncConnection) -> int:
    """The highest serial there is; 0 before the first."""
    newest = await db.execute(select(func.coalesce(func.max(change.c.serial), 0)))
    return int(newest.scalar_one())


async def newest_change(db: AsyncConnection, kinds: tuple[str, ...]) -> Change | None:
    """The last change of these kinds."""
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
    """The changes after a serial, in order."""
    statement = select(*COLUMNS).where(change.c.serial > since)
    if kinds is not None:
        statement = statement.where(change.c.kind.in_(kinds))
    return [Change(*row) for row in await db.execute(statement.order_by(change.c.serial).limit(limit))]


async def read_queue_changes(db: AsyncConnection, since: int, limit: int) -> list[QueueChange]:
    """The changes after a serial, in order, each with what listeners want to know of its submission."""
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
