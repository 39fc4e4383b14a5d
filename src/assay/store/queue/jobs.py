"""Queued and running jobs: enqueue, remove, and move to the front or back."""

from collections.abc import Sequence
from enum import StrEnum

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job
from assay.store.queue.pgqueuer import queries_on
from assay.store.queue.shares import TURN_BITS, read_virtual_time, take_turns

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
# The same row as PgQueuer's enqueue writes, without the entry in its log, which is not used: half the time. PgQueuer
# claims by priority and id, so the turn of a job is the upper part of its id.
INSERT = text(
    f"""
    INSERT INTO pgqueuer (id, entrypoint, status, payload, dedupe_key, priority)
    SELECT (turn << {TURN_BITS}) | (nextval('pgqueuer_id_seq') & {2**TURN_BITS - 1}), :entrypoint, 'queued',
        payload, key, priority
    FROM unnest(
        CAST(:payloads AS bytea[]), CAST(:keys AS text[]), CAST(:priorities AS int[]), CAST(:turns AS bigint[])
    ) AS job (payload, key, priority, turn)
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


async def enqueue(
    db: AsyncConnection,
    jobs: Sequence[Job],
    priorities: Sequence[int],
    chunk: int = CHUNK,
    *,
    share: str | None = None,
) -> None:
    """Insert jobs in the caller's transaction, `chunk` per statement. Raises AssertionError outside a transaction.

    The jobs take turns with those of other shares, which are named after callers; without a share, they are next.
    """
    raw = (await db.get_raw_connection()).driver_connection
    assert raw is not None
    if not raw.is_in_transaction():
        raise AssertionError("A job must be enqueued in the transaction that writes its subject.")
    if not jobs:
        return
    turns = await _turns(db, len(jobs), share)
    for start in range(0, len(jobs), chunk):
        batch = jobs[start : start + chunk]
        columns = {
            "entrypoint": ENTRYPOINT,
            "payloads": [job.encode() for job in batch],
            "keys": [job.key for job in batch],
            "priorities": list(priorities[start : start + chunk]),
            "turns": turns[start : start + chunk],
        }
        await db.execute(INSERT, columns)


async def _turns(db: AsyncConnection, number: int, share: str | None) -> list[int]:
    if share is None:
        return [await read_virtual_time(db)] * number
    first = await take_turns(db, share, number)
    return list(range(first, first + number))
