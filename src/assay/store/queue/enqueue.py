"""Put jobs into the queue, in the transaction that writes what they are about."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job

CHUNK = 100
# The row that the engine's own enqueue writes, without its entry in a log that nobody reads: half the time.
INSERT = text(
    """
    INSERT INTO pgqueuer (entrypoint, status, payload, dedupe_key, priority)
    SELECT :entrypoint, 'queued', payload, key, priority
    FROM unnest(CAST(:payloads AS bytea[]), CAST(:keys AS text[]), CAST(:priorities AS int[]))
        AS job (payload, key, priority)
    """
)


async def enqueue(db: AsyncConnection, jobs: Sequence[Job], priorities: Sequence[int], chunk: int = CHUNK) -> None:
    """The jobs exist exactly if the caller's transaction commits; `chunk` of them are one statement."""
    raw = (await db.get_raw_connection()).driver_connection
    assert raw is not None
    if not raw.is_in_transaction():
        raise AssertionError("A job must be enqueued in the transaction that writes its subject.")
    for start in range(0, len(jobs), chunk):
        some = jobs[start : start + chunk]
        columns = {
            "entrypoint": ENTRYPOINT,
            "payloads": [job.encode() for job in some],
            "keys": [job.key for job in some],
            "priorities": list(priorities[start : start + chunk]),
        }
        await db.execute(INSERT, columns)
