"""Pauses of the queue, each with an owner, a reason and an end. All times are those of the database."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.locks import QUEUE_PAUSE
from assay.store.tables import queue_pause

COLUMNS = (queue_pause.c.reason, queue_pause.c.paused_by, queue_pause.c.paused_at, queue_pause.c.expires_at)


WAS_PAUSED = text("SELECT EXISTS (SELECT FROM queue_pause WHERE coalesce(resumed_at, expires_at) > :since)")


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause: no job is claimed until it expires or is ended."""

    reason: str
    paused_by: str
    paused_at: datetime
    expires_at: datetime


async def read_pause(db: AsyncConnection) -> Pause | None:
    """Return the current pause, if any."""
    holds = select(*COLUMNS).where(queue_pause.c.resumed_at.is_(None), queue_pause.c.expires_at > func.now())
    row = (await db.execute(holds)).one_or_none()
    return Pause(*row) if row else None


async def start_pause(db: AsyncConnection, *, reason: str, by: str, seconds: int) -> Pause:
    """Start a pause; it replaces the current one."""
    await end_pause(db, by=by)
    ends = text("now() + make_interval(secs => :seconds)").bindparams(seconds=seconds)
    fresh = insert(queue_pause).values(reason=reason, paused_by=by, expires_at=ends).returning(*COLUMNS)
    return Pause(*(await db.execute(fresh)).one())


async def end_pause(db: AsyncConnection, *, by: str) -> Pause | None:
    """End the current pause and return it; None if the queue was not paused."""
    await db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": QUEUE_PAUSE})
    held = await read_pause(db)
    ended = update(queue_pause).where(queue_pause.c.resumed_at.is_(None))
    # An expired pause ended at its expiry, not now.
    await db.execute(
        ended.values(
            resumed_at=func.least(func.now(), queue_pause.c.expires_at),
            resumed_by=by if held else "expiry",
        )
    )
    return held


async def was_paused(db: AsyncConnection, since: datetime) -> bool:
    return bool((await db.execute(WAS_PAUSED, {"since": since})).scalar_one())
