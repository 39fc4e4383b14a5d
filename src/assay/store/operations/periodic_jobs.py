"""What is known of each chore: when it last worked, how long it took, how often it has failed since.

Success is written in the transaction that did the work, failure in one of its own. The clock is the database's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zlib import crc32

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import chore

LOCKS = 20_260_104
LONGEST_ERROR = 500
# One round trip: whoever holds the lock also has its statements limited, until the end of the transaction.
LOCK = text("SELECT pg_try_advisory_xact_lock(:locks, :name), set_config('statement_timeout', :milliseconds, true)")
# A turn that failed was a turn, too: a chore that cannot work is tried at its interval and not without a pause.
SECONDS_LEFT = text(
    """
    SELECT :every_seconds - extract(epoch FROM clock_timestamp() - greatest(succeeded_at, failed_at))
    FROM chore WHERE name = :name
    """
)
SUCCEEDED = text(
    """
    INSERT INTO chore (name, every_seconds, budget_seconds, started_at, succeeded_at, duration_ms, amount)
    VALUES (
        :name, :every_seconds, :budget_seconds, now(), clock_timestamp(),
        extract(epoch FROM clock_timestamp() - now()) * 1000, :amount
    )
    ON CONFLICT (name) DO UPDATE SET
        every_seconds = excluded.every_seconds, budget_seconds = excluded.budget_seconds,
        started_at = excluded.started_at, succeeded_at = excluded.succeeded_at,
        duration_ms = excluded.duration_ms, amount = excluded.amount, failures = 0
    """
)
FAILED = text(
    """
    INSERT INTO chore AS kept (name, every_seconds, budget_seconds, started_at, failed_at, error, failures)
    VALUES (
        :name, :every_seconds, :budget_seconds, now() - make_interval(secs => :seconds), now(), :error, 1
    )
    ON CONFLICT (name) DO UPDATE SET
        every_seconds = excluded.every_seconds, budget_seconds = excluded.budget_seconds,
        started_at = excluded.started_at, failed_at = excluded.failed_at, error = excluded.error,
        failures = kept.failures + 1
    """
)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a chore is due, and how long it may take."""

    name: str
    every_seconds: float
    budget_seconds: float

    @property
    def values(self) -> dict[str, object]:
        """As columns."""
        return {"name": self.name, "every_seconds": self.every_seconds, "budget_seconds": self.budget_seconds}


@dataclass(frozen=True, slots=True)
class ChoreRecord:
    """A chore and its past. `failures` are those since it last worked."""

    rhythm: Rhythm
    known_since: datetime
    succeeded_at: datetime | None
    duration_ms: float | None
    amount: int | None
    failed_at: datetime | None
    error: str | None
    failures: int


async def register_chores(db: AsyncConnection, rhythms: Sequence[Rhythm]) -> None:
    """Make chores known before they have ever worked; those of other releases are forgotten unless they still work."""
    names = [rhythm.name for rhythm in rhythms]
    await db.execute(delete(chore).where(chore.c.name.not_in(names)))
    fresh = insert(chore).values([rhythm.values for rhythm in rhythms])
    rhythm = {column: fresh.excluded[column] for column in ("every_seconds", "budget_seconds")}
    await db.execute(fresh.on_conflict_do_update(index_elements=[chore.c.name], set_=rhythm))


async def lock_chore(db: AsyncConnection, rhythm: Rhythm) -> bool:
    """Until the end of the transaction nobody else can do it, and no statement may outlast its budget."""
    number = crc32(rhythm.name.encode())
    parameters = {
        "locks": LOCKS,
        "name": number - (1 << 32) if number >> 31 else number,
        "milliseconds": str(max(1, round(rhythm.budget_seconds * 1000))),
    }
    return bool((await db.execute(LOCK, parameters)).one()[0])


async def seconds_until_due(db: AsyncConnection, rhythm: Rhythm) -> float:
    """How long until somebody should do it again; zero or less if it is due."""
    parameters = {"name": rhythm.name, "every_seconds": rhythm.every_seconds}
    left = (await db.execute(SECONDS_LEFT, parameters)).scalar_one_or_none()
    return float(left) if left is not None else 0


async def record_success(db: AsyncConnection, rhythm: Rhythm, amount: int) -> None:
    """It worked, if the caller's transaction commits."""
    await db.execute(SUCCEEDED, {**rhythm.values, "amount": amount})


async def record_failure(db: AsyncConnection, rhythm: Rhythm, error: str, seconds: float) -> None:
    """It did not work, after so many seconds."""
    await db.execute(FAILED, {**rhythm.values, "error": error[:LONGEST_ERROR], "seconds": seconds})


async def list_chores(db: AsyncConnection) -> list[ChoreRecord]:
    """All chores, by name."""
    statement = select(
        chore.c.name,
        chore.c.every_seconds,
        chore.c.budget_seconds,
        chore.c.known_since,
        chore.c.succeeded_at,
        chore.c.duration_ms,
        chore.c.amount,
        chore.c.failed_at,
        chore.c.error,
        chore.c.failures,
    ).order_by(chore.c.name)
    return [_record(row) for row in await db.execute(statement)]


async def read_position(db: AsyncConnection, name: str) -> str | None:
    """Where a chore goes on; None at the beginning of its list."""
    return (await db.execute(select(chore.c.position).where(chore.c.name == name))).scalar_one_or_none()


async def save_position(db: AsyncConnection, name: str, position: str | None) -> None:
    """Where it goes on next time, if the caller's transaction commits."""
    await db.execute(update(chore).where(chore.c.name == name).values(position=position))


def _record(row: Sequence[Any]) -> ChoreRecord:
    name, every_seconds, budget_seconds, *past = row
    return ChoreRecord(Rhythm(name, every_seconds, budget_seconds), *past)
