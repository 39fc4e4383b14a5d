"""Jobs that PgQueuer holds as failed. A held job without a key is known to be unreadable."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import ACTIVE
from assay.store.tables.base import quoted

LOCK = text(
    """
    SELECT id, dedupe_key, payload FROM pgqueuer WHERE status = 'failed' AND dedupe_key IS NOT NULL
    LIMIT :at_most
    FOR UPDATE SKIP LOCKED
    """
)
UNREADABLE = text("SELECT id FROM pgqueuer WHERE status = 'failed' AND dedupe_key IS NULL LIMIT :at_most")
REQUEUE = text(
    """
    UPDATE pgqueuer SET status = 'queued', execute_after = now(), queue_manager_id = NULL, updated = now()
    WHERE id = ANY(:ids)
    """
)
DELETE = text("DELETE FROM pgqueuer WHERE id = ANY(:ids)")
# Without a key the job no longer belongs to its submission, which becomes an orphan and gets a new job.
CLEAR_KEY = text("UPDATE pgqueuer SET dedupe_key = NULL WHERE id = ANY(:ids)")
KEYS_IN_USE = text("SELECT dedupe_key FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked')")
CYCLES = f"""
    SELECT id, cycle FROM submission WHERE id = ANY(:ids) AND state IN ({quoted(ACTIVE)})
"""
ACTIVE_CYCLES = text(CYCLES)
LOCK_CYCLES = text(CYCLES + "FOR NO KEY UPDATE SKIP LOCKED")
Cycle = tuple[UUID, int]


@dataclass(frozen=True, slots=True)
class HeldJob:
    id: int
    key: str
    payload: bytes | None


async def lock_held_jobs(db: AsyncConnection, at_most: int) -> list[HeldJob]:
    """Lock held jobs that may be readable, until the end of the transaction."""
    return [HeldJob(*row) for row in await db.execute(LOCK, {"at_most": at_most})]


async def list_unreadable_jobs(db: AsyncConnection, at_most: int) -> list[int]:
    return list((await db.execute(UNREADABLE, {"at_most": at_most})).scalars())


async def lock_active_cycles(db: AsyncConnection, ids: Sequence[UUID]) -> tuple[set[Cycle], set[Cycle]]:
    """Return the active cycles of these submissions: all of them, and those that this transaction has locked."""
    every = {(number, cycle) for number, cycle in await db.execute(ACTIVE_CYCLES, {"ids": list(ids)})}
    # SKIP LOCKED does not wait, so it cannot deadlock.
    locked = {(number, cycle) for number, cycle in await db.execute(LOCK_CYCLES, {"ids": list(ids)})}
    return every | locked, locked


async def find_keys_in_use(db: AsyncConnection, keys: Sequence[str]) -> set[str]:
    """Return the keys among these that belong to queued or running jobs."""
    return set((await db.execute(KEYS_IN_USE, {"keys": list(keys)})).scalars())


async def requeue_held_jobs(db: AsyncConnection, ids: Sequence[int]) -> None:
    """Return held jobs to the queue. No other job may have their keys."""
    await db.execute(REQUEUE, {"ids": list(ids)})


async def drop_held_jobs(db: AsyncConnection, ids: Sequence[int]) -> None:
    await db.execute(DELETE, {"ids": list(ids)})


async def quarantine_jobs(db: AsyncConnection, ids: Sequence[int]) -> None:
    """Clear the keys of unreadable jobs. They stay held for an operator to inspect."""
    await db.execute(CLEAR_KEY, {"ids": list(ids)})
