"""Pauses of the queue: each has an owner, a reason and an end. The clock is the database's."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import queue_pause

LOCK = 20_260_103
COLUMNS = (queue_pause.c.reason, queue_pause.c.paused_by, queue_pause.c.paused_at, queue_pause.c.expires_at)


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is claimed until it expires or somebody ends it."""

    reason: str
    paused_by: str
    paused_at: datetime
    expires_at: datetime


async def read_pause(db: AsyncConnection) -> Pause | None:
    """The pause that holds now."""
    holds = select(*COLUMNS).where(queue_pause.c.resumed_at.is_(None), queue_pause.c.expires_at > func.now())
    row = (await db.execute(holds)).one_or_none()
    return Pause(*row) if row else None


async def start_pause(db: AsyncConnection, *, reason: str, by: str, seconds: int) -> Pause:
    """Pause from now on; an earlier pause ends, so that the last word counts."""
    await end_pause(db, by=by)
    ends = text("now() + make_interval(secs => :seconds)").bindparams(seconds=seconds)
    fresh = insert(queue_pause).values(reason=reason, paused_by=by, expires_at=ends).returning(*COLUMNS)
    return Pause(*(await db.execute(fresh)).one())


async def end_pause(db: AsyncConnection, *, by: str) -> Pause | None:
    """The pause that this ended; None if the queue was running."""
    await db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    held = await read_pause(db)
    ended = update(queue_pause).where(queue_pause.c.resumed_at.is_(None))
    # One that has run out ended by itself, at its time.
    await db.execute(
        ended.values(
            resumed_at=func.least(func.now(), queue_pause.c.expires_at),
            resumed_by=by if held else "expiry",
        )
    )
    return held
