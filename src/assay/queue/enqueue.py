"""Put jobs into the queue, in the transaction that writes what they are about."""

from collections.abc import Sequence

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.queue.engine import queries_on
from assay.queue.job import ENTRYPOINT, Job


async def enqueue(db: AsyncConnection, jobs: Sequence[Job], priorities: Sequence[int]) -> None:
    """The jobs exist exactly if the caller's transaction commits."""
    raw = (await db.get_raw_connection()).driver_connection
    assert raw is not None
    if not raw.is_in_transaction():
        raise AssertionError("A job must be enqueued in the transaction that writes its subject.")
    await queries_on(AsyncpgDriver(raw)).enqueue(
        [ENTRYPOINT] * len(jobs), [job.encode() for job in jobs], list(priorities)
    )
