"""Pause the queue for a while, or let it go on."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.operations.audit import record_audit
from assay.store.queue.pauses import Pause, end_pause, start_pause

USUAL_SECONDS, LONGEST_SECONDS = 3_600, 86_400


async def pause_queue(db: AsyncConnection, *, reason: str, seconds: int, by: str) -> Pause:
    """Workers claim nothing until it ends; what is in flight is finished. A second pause replaces the first."""
    pause = await start_pause(db, reason=reason, by=by, seconds=seconds)
    await record_audit(db, by, "queue_paused", "queue", {"reason": reason, "seconds": seconds})
    return pause


async def resume_queue(db: AsyncConnection, *, by: str) -> Pause | None:
    """The pause that this ended; None if there was none."""
    ended = await end_pause(db, by=by)
    if ended is not None:
        await record_audit(db, by, "queue_resumed", "queue", {"paused_by": ended.paused_by})
    return ended
