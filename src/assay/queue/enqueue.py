"""Put jobs into the queue, in the transaction that writes what they are about."""

from collections.abc import Sequence

from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.queue.engine import queries_on
from assay.queue.job import ENTRYPOINT, Job

CHUNK = 100


async def enqueue(db: AsyncConnection, jobs: Sequence[Job], priorities: Sequence[int], chunk: int = CHUNK) -> None:
    """The jobs exist exactly if the caller's transaction commits; `chunk` of them are one statement."""
    raw = (await db.get_raw_connection()).driver_connection
    assert raw is not None
    if not raw.is_in_transaction():
        raise AssertionError("A job must be enqueued in the transaction that writes its subject.")
    queries = queries_on(AsyncpgDriver(raw))
    for start in range(0, len(jobs), chunk):
        some = jobs[start : start + chunk]
        await queries.enqueue(
            [ENTRYPOINT] * len(some),
            [job.encode() for job in some],
            list(priorities[start : start + chunk]),
            dedupe_key=[job.key for job in some],
        )
