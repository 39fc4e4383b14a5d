"""Published contents to be rescanned, longest due first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import second_look

# Sorted, so that concurrent inserts of the same contents do not deadlock. The first reason is kept.
ADD = text(
    """
    INSERT INTO second_look (content_digest, why)
    SELECT digest, :why FROM unnest(CAST(:digests AS text[])) AS digest ORDER BY digest
    ON CONFLICT DO NOTHING
    """
)
# A claim moves the due time; if the worker dies, the rescan is due again at that time.
CLAIM = text(
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
class DueRescan:
    digest: str
    why: str
    failures: int


async def add_rescans(db: AsyncConnection, digests: Sequence[str], *, why: str) -> None:
    """Idempotent."""
    await db.execute(ADD, {"digests": sorted(set(digests)), "why": why})


async def claim_rescans(db: AsyncConnection, *, limit: int, held_seconds: float) -> list[DueRescan]:
    """Claim due rescans for `held_seconds`."""
    rows = await db.execute(CLAIM, {"limit": limit, "held_seconds": held_seconds})
    return [DueRescan(*row) for row in rows]


async def count_rescans(db: AsyncConnection, at_most: int) -> int:
    """Count waiting rescans, up to `at_most`."""
    counted = select(second_look.c.content_digest).limit(at_most).subquery()
    return int((await db.execute(select(func.count()).select_from(counted))).scalar_one())


async def finish_rescan(db: AsyncConnection, digest: str) -> None:
    await db.execute(delete(second_look).where(second_look.c.content_digest == digest))


async def postpone_rescan(db: AsyncConnection, digest: str, problem: str, *, after: timedelta) -> None:
    """Record a failure, which says nothing about the content, and retry later."""
    values = {"due_at": func.now() + after, "failures": second_look.c.failures + 1, "problem": problem[:500]}
    await db.execute(update(second_look).where(second_look.c.content_digest == digest).values(values))
