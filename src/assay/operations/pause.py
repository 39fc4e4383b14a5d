"""Pausing and resuming the queue."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.operations.audit import record_audit
from assay.store.queue.pauses import Pause, end_pause, start_pause

DEFAULT_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 3_600, 86_400


async def pause_queue(db: AsyncConnection, *, reason: str, seconds: int, by: str) -> Pause:
    """Stop all claims for `seconds`; jobs in flight are finished. Replaces a pause that is in effect."""
    pause = await start_pause(db, reason=reason, by=by, seconds=seconds)
    await record_audit(db, by, "queue_paused", "queue", {"reason": reason, "seconds": seconds})
    return pause


async def resume_queue(db: AsyncConnection, *, by: str) -> Pause | None:
    """End the pause and return it; None if the queue was not paused."""
    ended = await end_pause(db, by=by)
    if ended is not None:
        await record_audit(db, by, "queue_resumed", "queue", {"paused_by": ended.paused_by})
    return ended
