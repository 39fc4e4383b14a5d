"""Jobs that the queue holds as failed: found, given back, dropped. A held job without a key cannot be read."""

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
GIVE_BACK = text(
    """
    UPDATE pgqueuer SET status = 'queued', execute_after = now(), queue_manager_id = NULL, updated = now()
    WHERE id = ANY(:ids)
    """
)
DROP = text("DELETE FROM pgqueuer WHERE id = ANY(:ids)")
# Without its key a job no longer stands for its subject, which is then found to have none and gets a new one.
TAKE_KEY = text("UPDATE pgqueuer SET dedupe_key = NULL WHERE id = ANY(:ids)")
TAKEN_KEYS = text("SELECT dedupe_key FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked')")
ROUNDS = f"""
    SELECT id, cycle FROM submission WHERE id = ANY(:ids) AND state IN ({quoted(ACTIVE)})
"""
ACTIVE_ROUNDS = text(ROUNDS)
LOCK_ROUNDS = text(ROUNDS + "FOR NO KEY UPDATE SKIP LOCKED")
Round = tuple[UUID, int]


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that nobody works on."""

    id: int
    key: str
    payload: bytes | None


async def lock_held_jobs(db: AsyncConnection, at_most: int) -> list[HeldJob]:
    """Those that may be readable, locked until the end of the transaction."""
    return [HeldJob(*row) for row in await db.execute(LOCK, {"at_most": at_most})]


async def list_unreadable_jobs(db: AsyncConnection, at_most: int) -> list[int]:
    """The ids of those that are known to be unreadable."""
    return list((await db.execute(UNREADABLE, {"at_most": at_most})).scalars())


async def lock_active_rounds(db: AsyncConnection, ids: Sequence[UUID]) -> tuple[set[Round], set[Round]]:
    """The rounds of these submissions that are under way: all of them, and those that are now locked."""
    every = {(number, cycle) for number, cycle in await db.execute(ACTIVE_ROUNDS, {"ids": list(ids)})}
    # Skipping never waits, so it never waits for somebody who waits for us.
    locked = {(number, cycle) for number, cycle in await db.execute(LOCK_ROUNDS, {"ids": list(ids)})}
    return every | locked, locked


async def taken_keys(db: AsyncConnection, keys: Sequence[str]) -> set[str]:
    """Which of these keys belong to jobs that wait or run."""
    return set((await db.execute(TAKEN_KEYS, {"keys": list(keys)})).scalars())


async def give_back(db: AsyncConnection, ids: Sequence[int]) -> None:
    """Into the queue again; no other job may have their key."""
    await db.execute(GIVE_BACK, {"ids": list(ids)})


async def drop_held_jobs(db: AsyncConnection, ids: Sequence[int]) -> None:
    """Out of the queue for good."""
    await db.execute(DROP, {"ids": list(ids)})


async def set_aside(db: AsyncConnection, ids: Sequence[int]) -> None:
    """They stay held, for people to see, and stand for nothing any more."""
    await db.execute(TAKE_KEY, {"ids": list(ids)})
