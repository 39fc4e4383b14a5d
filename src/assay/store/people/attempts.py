"""Sign-in attempts, counted in time windows by a digest of the client."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import sign_in_attempt


async def count_attempt(db: AsyncConnection, key: str, until: datetime) -> tuple[int, datetime]:
    """Count an attempt and return the number in the window and its end; a new window ends at `until`."""
    first = insert(sign_in_attempt).values(key=key, attempts=1, until=until)
    incremented = {"attempts": sign_in_attempt.c.attempts + 1}
    statement = first.on_conflict_do_update(index_elements=[sign_in_attempt.c.key], set_=incremented)
    row = (await db.execute(statement.returning(sign_in_attempt.c.attempts, sign_in_attempt.c.until))).one()
    return row.attempts, row.until


async def reset_attempts(db: AsyncConnection, key: str) -> None:
    """Reset the window after a successful sign-in."""
    await db.execute(delete(sign_in_attempt).where(sign_in_attempt.c.key == key))


async def delete_old_attempts(db: AsyncConnection, now: datetime) -> None:
    """Delete expired windows. Skips those locked by others."""
    expired = select(sign_in_attempt.c.key).where(sign_in_attempt.c.until <= now).with_for_update(skip_locked=True)
    await db.execute(delete(sign_in_attempt).where(sign_in_attempt.c.key.in_(expired)))
