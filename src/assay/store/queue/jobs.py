"""Queued and running jobs: enqueue, remove, and move to the front or back."""

from collections.abc import Sequence
from enum import StrEnum

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job
from assay.store.queue.pgqueuer import queries_on

REMOVE = text(
    """
    DELETE FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked')
    RETURNING id, status = 'picked' AS is_running
    """
)
HIGHEST_PRIORITY = text(
    "SELECT priority FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' ORDER BY priority DESC LIMIT 1"
)
LOWEST_PRIORITY = text(
    "SELECT priority FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' ORDER BY priority LIMIT 1"
)
# Includes running jobs: if a worker returns one, it keeps the new priority.
REORDER = text(
    "UPDATE pgqueuer SET priority = :priority WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked')"
)


CHUNK = 100
# The same row as PgQueuer's enqueue writes, without the entry in its log, which is not used: half the time.
INSERT = text(
    """
    INSERT INTO pgqueuer (entrypoint, status, payload, dedupe_key, priority)
    SELECT :entrypoint, 'queued', payload, key, priority
    FROM unnest(CAST(:payloads AS bytea[]), CAST(:keys AS text[]), CAST(:priorities AS int[]))
        AS job (payload, key, priority)
    """
)


class QueueEnd(StrEnum):
    FRONT = "front"
    BACK = "back"


async def remove_jobs(db: AsyncConnection, jobs: Sequence[Job]) -> int:
    """Remove jobs and cancel running ones when the transaction commits. Returns the number of running ones."""
    removed = (await db.execute(REMOVE, {"keys": [job.key for job in jobs]})).all()
    running = [number for number, is_running in removed if is_running]
    if running:
        raw = (await db.get_raw_connection()).driver_connection
        await queries_on(AsyncpgDriver(raw)).notify_job_cancellation(running)
    return len(running)


async def reorder_jobs(db: AsyncConnection, jobs: Sequence[Job], end: QueueEnd) -> int:
    """Move jobs before or behind all queued ones, keeping their relative order. Returns their new priority."""
    statement, step = (HIGHEST_PRIORITY, 1) if end is QueueEnd.FRONT else (LOWEST_PRIORITY, -1)
    outermost = (await db.execute(statement, {"entrypoint": ENTRYPOINT})).scalar_one_or_none()
    priority = (outermost or 0) + step
    await db.execute(REORDER, {"priority": priority, "keys": [job.key for job in jobs]})
    return priority


async def enqueue(db: AsyncConnection, jobs: Sequence[Job], priorities: Sequence[int], chunk: int = CHUNK) -> None:
    """Insert jobs in the caller's transaction, `chunk` per statement. Raises AssertionError outside a transaction."""
    raw = (await db.get_raw_connection()).driver_connection
    assert raw is not None
    if not raw.is_in_transaction():
        raise AssertionError("A job must be enqueued in the transaction that writes its subject.")
    for start in range(0, len(jobs), chunk):
        batch = jobs[start : start + chunk]
        columns = {
            "entrypoint": ENTRYPOINT,
            "payloads": [job.encode() for job in batch],
            "keys": [job.key for job in batch],
            "priorities": list(priorities[start : start + chunk]),
        }
        await db.execute(INSERT, columns)
