"""Orphans: active submissions without a job, which would never be processed.

No index can find a missing job, so the backlog is checked in windows, oldest first. Submissions in the states in
which a worker holds them are few and are checked every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import ACTIVE, State
from assay.store.tables.base import quoted

# Lateral joins with LIMIT are looked up row by row; a plain join might read the whole queue.
JOBS = """
    LEFT JOIN LATERAL (
        SELECT 1 AS found FROM pgqueuer
        WHERE dedupe_key = {row}.id || ':' || {row}.cycle AND status IN ('queued', 'picked') LIMIT 1
    ) AS job ON true
    LEFT JOIN LATERAL (
        SELECT 1 AS found FROM pgqueuer WHERE dedupe_key = {row}.id || ':' || {row}.cycle AND status = 'failed' LIMIT 1
    ) AS held ON true
"""
# Materialised, so that the index walk ends at the limit before any job is looked up.
FIND = text(
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
# Checked again after locking: the submission may have changed before it was locked.
LOCK = text(
    f"""
    SELECT id, cycle, priority FROM submission
    WHERE id = ANY(:ids) AND state IN ({quoted(ACTIVE)}) AND updated_at < :before
        AND (lease_expires_at IS NULL OR lease_expires_at < :now)
    FOR NO KEY UPDATE SKIP LOCKED
    """
)
STILL_ORPHANED = text(
    f"""
    SELECT submission.id, cycle, priority FROM submission {JOBS.format(row="submission")}
    WHERE submission.id = ANY(:ids) AND job.found IS NULL AND held.found IS NULL
    """
)
OrphanCursor = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class OrphanWindow:
    """The part of the backlog to check: at most `at_most` rows after a cursor that did not change since `before`."""

    after: OrphanCursor
    before: datetime
    now: datetime
    at_most: int

    @property
    def values(self) -> dict[str, object]:
        moment, number = self.after
        return {"after_moment": moment, "after_id": number, "before": self.before, "at_most": self.at_most}


@dataclass(frozen=True, slots=True)
class Orphan:
    id: UUID
    updated_at: datetime


async def find_orphans(db: AsyncConnection, window: OrphanWindow) -> list[Orphan]:
    """Return the orphans in a window, oldest first."""
    return [Orphan(*row) for row in await db.execute(FIND, {**window.values, "now": window.now})]


async def find_window_end(db: AsyncConnection, window: OrphanWindow) -> OrphanCursor | None:
    """Return the cursor of the next window; None if this one reaches the end of the backlog."""
    row = (await db.execute(END_OF_WINDOW, window.values)).one_or_none()
    return (row.updated_at, row.id) if row else None


async def lock_orphans(
    db: AsyncConnection, ids: Sequence[UUID], *, before: datetime, now: datetime
) -> list[tuple[UUID, int, int]]:
    """Lock submissions that are still orphans, so that no other transaction enqueues them.

    Returns id, cycle and priority of each.
    """
    locked = await db.execute(LOCK, {"ids": list(ids), "before": before, "now": now})
    still = await db.execute(STILL_ORPHANED, {"ids": [row.id for row in locked]})
    return [(row.id, row.cycle, row.priority) for row in still]
