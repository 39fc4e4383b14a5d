"""Give back to the queue what an accident took out of it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# A handler always says what becomes of a job, so a job that PgQueuer holds as failed is an accident:
# the database went away while the outcome was being written. Partial index or not, held jobs are few.
REQUEUE_HELD = text(
    """
    UPDATE pgqueuer SET status = 'queued', execute_after = now(), queue_manager_id = NULL, updated = now()
    WHERE status = 'failed'
    """
)


async def rescue_held_jobs(db: AsyncConnection) -> int:
    """Returns how many jobs were given back."""
    return (await db.execute(REQUEUE_HELD)).rowcount
