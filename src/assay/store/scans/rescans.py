"""Published contents that are to be weighed again, the longest due first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import second_look

# Sorted, so that two that add the same wait for each other and do not deadlock. The first reason stands.
ADD = text(
    """
    INSERT INTO second_look (content_digest, why)
    SELECT digest, :why FROM unnest(CAST(:digests AS text[])) AS digest ORDER BY digest
    ON CONFLICT DO NOTHING
    """
)
# Whoever takes some leaves the others to others; if he dies, they are due again when his time is over.
TAKE = text(
    """
    UPDATE second_look SET due_at = now() + make_interval(secs => :held_seconds)
    FROM (
        SELECT content_digest FROM second_look WHERE due_at <= now()
        ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE second_look.content_digest = due.content_digest
    RETURNING second_look.content_digest, why, failures
    """
)


@dataclass(frozen=True, slots=True)
class Due:
    """A content that is to be looked at again."""

    digest: str
    why: str
    failures: int


async def add_second_looks(db: AsyncConnection, digests: Sequence[str], *, why: str) -> None:
    """Idempotent."""
    await db.execute(ADD, {"digests": sorted(set(digests)), "why": why})


async def take_second_looks(db: AsyncConnection, *, limit: int, held_seconds: float) -> list[Due]:
    """Some that are due, for nobody else until then."""
    rows = await db.execute(TAKE, {"limit": limit, "held_seconds": held_seconds})
    return [Due(*row) for row in rows]


async def count_second_looks(db: AsyncConnection, at_most: int) -> int:
    """How many wait, up to a bound."""
    some = select(second_look.c.content_digest).limit(at_most).subquery()
    return int((await db.execute(select(func.count()).select_from(some))).scalar_one())


async def end_second_look(db: AsyncConnection, digest: str) -> None:
    """It has been looked at."""
    await db.execute(delete(second_look).where(second_look.c.content_digest == digest))


async def postpone_second_look(db: AsyncConnection, digest: str, problem: str, *, after: timedelta) -> None:
    """It could not be looked at, which says nothing about it."""
    values = {"due_at": func.now() + after, "failures": second_look.c.failures + 1, "problem": problem[:500]}
    await db.execute(update(second_look).where(second_look.c.content_digest == digest).values(values))
