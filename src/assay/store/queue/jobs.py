"""Jobs that are waiting or running, found by their key: take them out, move them to the front or the back."""

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
FIRST = text(
    "SELECT priority FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' ORDER BY priority DESC LIMIT 1"
)
LAST = text(
    "SELECT priority FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' ORDER BY priority LIMIT 1"
)
# Also what a worker has just taken out: it may have to give it back, and then it belongs there.
REORDER = text(
    "UPDATE pgqueuer SET priority = :priority WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked')"
)


class Place(StrEnum):
    """Where in the queue."""

    FRONT = "front"
    BACK = "back"


async def remove_jobs(db: AsyncConnection, jobs: Sequence[Job]) -> int:
    """Take jobs out. Those that are running are told to stop when the transaction commits; returns how many."""
    removed = (await db.execute(REMOVE, {"keys": [job.key for job in jobs]})).all()
    running = [number for number, is_running in removed if is_running]
    if running:
        raw = (await db.get_raw_connection()).driver_connection
        await queries_on(AsyncpgDriver(raw)).notify_job_cancellation(running)
    return len(running)


async def reorder_jobs(db: AsyncConnection, jobs: Sequence[Job], place: Place) -> int:
    """Before or behind all that wait, in the order they have among themselves. Returns their new priority."""
    statement, step = (FIRST, 1) if place is Place.FRONT else (LAST, -1)
    end = (await db.execute(statement, {"entrypoint": ENTRYPOINT})).scalar_one_or_none()
    priority = (end or 0) + step
    await db.execute(REORDER, {"priority": priority, "keys": [job.key for job in jobs]})
    return priority
