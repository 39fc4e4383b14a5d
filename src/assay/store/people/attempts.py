"""Attempts to sign in, counted by a digest of who tries and bounded by a window of time."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import sign_in_attempt


async def count_attempt(db: AsyncConnection, key: str, until: datetime) -> tuple[int, datetime]:
    """One attempt more: how many there are in the window, and when it ends; a new window ends at `until`."""
    first = insert(sign_in_attempt).values(key=key, attempts=1, until=until)
    again = {"attempts": sign_in_attempt.c.attempts + 1}
    statement = first.on_conflict_do_update(index_elements=[sign_in_attempt.c.key], set_=again)
    row = (await db.execute(statement.returning(sign_in_attempt.c.attempts, sign_in_attempt.c.until))).one()
    return row.attempts, row.until


async def forget_attempts(db: AsyncConnection, key: str) -> None:
    """Whoever got in has not been guessing."""
    await db.execute(delete(sign_in_attempt).where(sign_in_attempt.c.key == key))


async def forget_old_attempts(db: AsyncConnection, now: datetime) -> None:
    """Drop the windows that are over; those that somebody else is dropping are left to them."""
    over = select(sign_in_attempt.c.key).where(sign_in_attempt.c.until <= now).with_for_update(skip_locked=True)
    await db.execute(delete(sign_in_attempt).where(sign_in_attempt.c.key.in_(over)))
