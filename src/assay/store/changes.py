"""The change feed: every committed change once, in an order that no late commit can upset.

A number taken before a commit can become visible after a higher one, and a reader that has passed the
higher one would never see it. So rows are written without a serial. `number_changes` hands serials out
afterwards, only to rows of transactions older than every transaction still open (the snapshot horizon):
nothing can later appear among or before them. One numberer works at a time, so serials have no gaps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import change

LOCK = 20_260_102
AT_MOST = 10_000

NUMBER = text(
    """
    WITH settled AS (
        SELECT id, row_number() OVER (ORDER BY transaction_id, id) AS position
        FROM (
            SELECT id, transaction_id FROM change
            WHERE serial IS NULL AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY transaction_id, id
            LIMIT :at_most
        ) AS oldest
    ), last AS (
        SELECT coalesce(max(serial), 0) AS serial FROM change
    )
    UPDATE change SET serial = last.serial + settled.position
    FROM settled, last
    WHERE change.id = settled.id
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


async def number_changes(db: AsyncConnection) -> int:
    """Hand out serials to what has settled; nothing if another process is doing so right now."""
    locked = await db.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not locked.scalar_one():
        return 0
    return (await db.execute(NUMBER, {"at_most": AT_MOST})).rowcount


async def read_changes(
    db: AsyncConnection, since: int, limit: int, kinds: tuple[str, ...] | None = None
) -> list[Change]:
    """The changes after a serial, in order."""
    statement = select(
        change.c.serial,
        change.c.kind,
        change.c.submission_id,
        change.c.skill_id,
        change.c.data,
        change.c.created_at,
    ).where(change.c.serial > since)
    if kinds is not None:
        statement = statement.where(change.c.kind.in_(kinds))
    return [Change(*row) for row in await db.execute(statement.order_by(change.c.serial).limit(limit))]
