"""Orphans: active submissions that no job stands for, so that nobody would ever work on them.

There is no index of what is missing. The backlog is gone through some of it at a time, oldest first; the states in
which a worker has a submission are few and looked at every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import ACTIVE, State
from assay.store.tables.base import quoted

# Laterals with a limit are looked up row by row; as a join, the whole queue might be read to find a few.
JOBS = """
    LEFT JOIN LATERAL (
        SELECT 1 AS found FROM pgqueuer
        WHERE dedupe_key = {row}.id || ':' || {row}.cycle AND status IN ('queued', 'picked') LIMIT 1
    ) AS job ON true
    LEFT JOIN LATERAL (
        SELECT 1 AS found FROM pgqueuer WHERE dedupe_key = {row}.id || ':' || {row}.cycle AND status = 'failed' LIMIT 1
    ) AS held ON true
"""
# Materialized, so that the walk along the index ends at the limit before anything is looked up.
LOOK = text(
    "WITH looked_at AS MATERIALIZED ("
    + " UNION ALL ".join(
        f"""(
            SELECT id, cycle, updated_at, lease_expires_at FROM submission
            WHERE state = '{state}' AND updated_at < :before
            {"AND (updated_at, id) > (:after_moment, :after_id)" if state == State.RECEIVED else ""}
            ORDER BY updated_at, id LIMIT :at_most
        )"""
        for state in sorted(ACTIVE)
    )
    + f""")
    SELECT id, updated_at FROM looked_at {JOBS.format(row="looked_at")}
    WHERE (lease_expires_at IS NULL OR lease_expires_at < :now) AND job.found IS NULL AND held.found IS NULL
    ORDER BY updated_at, id
    """
)
END_OF_WINDOW = text(
    f"""
    SELECT updated_at, id FROM submission
    WHERE state = '{State.RECEIVED}' AND updated_at < :before AND (updated_at, id) > (:after_moment, :after_id)
    ORDER BY updated_at, id OFFSET :at_most - 1 LIMIT 1
    """
)
# What has been locked is looked at again: it may have moved on while nobody held it.
LOCK = text(
    f"""
    SELECT id, cycle, priority FROM submission
    WHERE id = ANY(:ids) AND state IN ({quoted(ACTIVE)}) AND updated_at < :before
        AND (lease_expires_at IS NULL OR lease_expires_at < :now)
    FOR NO KEY UPDATE SKIP LOCKED
    """
)
STILL = text(
    f"""
    SELECT submission.id, cycle, priority FROM submission {JOBS.format(row="submission")}
    WHERE submission.id = ANY(:ids) AND job.found IS NULL AND held.found IS NULL
    """
)
Position = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class Window:
    """Which of the waiting submissions are looked at: so many, after a position, untouched since `before`."""

    after: Position
    before: datetime
    now: datetime
    at_most: int

    @property
    def values(self) -> dict[str, object]:
        """As parameters."""
        moment, number = self.after
        return {"after_moment": moment, "after_id": number, "before": self.before, "at_most": self.at_most}


@dataclass(frozen=True, slots=True)
class Orphan:
    """An active submission that has no job."""

    id: UUID
    updated_at: datetime


async def find_orphans(db: AsyncConnection, window: Window) -> list[Orphan]:
    """Those of a window, oldest first."""
    return [Orphan(*row) for row in await db.execute(LOOK, {**window.values, "now": window.now})]


async def end_of(db: AsyncConnection, window: Window) -> Position | None:
    """Where the next window starts; None if this one reaches the end of the backlog."""
    row = (await db.execute(END_OF_WINDOW, window.values)).one_or_none()
    return (row.updated_at, row.id) if row else None


async def lock_orphans(
    db: AsyncConnection, ids: Sequence[UUID], *, before: datetime, now: datetime
) -> list[tuple[UUID, int, int]]:
    """Id, cycle and priority of those that are orphans now, locked: nobody can give them a job meanwhile."""
    locked = await db.execute(LOCK, {"ids": list(ids), "before": before, "now": now})
    still = await db.execute(STILL, {"ids": [row.id for row in locked]})
    return [(row.id, row.cycle, row.priority) for row in still]
