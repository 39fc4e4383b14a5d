"""Periodic jobs: last success, duration, and failures since.

Success is recorded in the transaction that did the work, failure in a separate one. All times are those of the
database.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.locks import PERIODIC_JOBS, lock_key
from assay.store.tables import chore

MAX_ERROR_LENGTH = 500
# One round trip: the lock, and a statement timeout until the end of the transaction.
LOCK = text("SELECT pg_try_advisory_xact_lock(:locks, :name), set_config('statement_timeout', :milliseconds, true)")
# A failed run counts, too: a job that fails is retried at its interval, not continuously.
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
class JobSchedule:
    """The interval and time limit of a periodic job."""

    name: str
    every_seconds: float
    budget_seconds: float

    @property
    def values(self) -> dict[str, object]:
        return {"name": self.name, "every_seconds": self.every_seconds, "budget_seconds": self.budget_seconds}


@dataclass(frozen=True, slots=True)
class PeriodicJobRecord:
    """A periodic job and its history. `failures` counts those since the last success."""

    schedule: JobSchedule
    known_since: datetime
    succeeded_at: datetime | None
    duration_ms: float | None
    amount: int | None
    failed_at: datetime | None
    error: str | None
    failures: int


async def register_periodic_jobs(db: AsyncConnection, schedules: Sequence[JobSchedule]) -> None:
    """Register periodic jobs before their first run, and delete those of other releases."""
    names = [schedule.name for schedule in schedules]
    await db.execute(delete(chore).where(chore.c.name.not_in(names)))
    fresh = insert(chore).values([schedule.values for schedule in schedules])
    schedule = {column: fresh.excluded[column] for column in ("every_seconds", "budget_seconds")}
    await db.execute(fresh.on_conflict_do_update(index_elements=[chore.c.name], set_=schedule))


async def lock_periodic_job(db: AsyncConnection, schedule: JobSchedule) -> bool:
    """Lock a job until the end of the transaction and limit its statements to its budget; False if it is locked."""
    parameters = {
        "locks": PERIODIC_JOBS,
        "name": lock_key(schedule.name),
        "milliseconds": str(max(1, round(schedule.budget_seconds * 1000))),
    }
    return bool((await db.execute(LOCK, parameters)).one()[0])


async def seconds_until_due(db: AsyncConnection, schedule: JobSchedule) -> float:
    """Return the seconds until the job is due; zero or less if it is."""
    parameters = {"name": schedule.name, "every_seconds": schedule.every_seconds}
    left = (await db.execute(SECONDS_LEFT, parameters)).scalar_one_or_none()
    return float(left) if left is not None else 0


async def record_success(db: AsyncConnection, schedule: JobSchedule, amount: int) -> None:
    """Record a success in the caller's transaction."""
    await db.execute(SUCCEEDED, {**schedule.values, "amount": amount})


async def record_failure(db: AsyncConnection, schedule: JobSchedule, error: str, seconds: float) -> None:
    """Record a failure after this many seconds."""
    await db.execute(FAILED, {**schedule.values, "error": error[:MAX_ERROR_LENGTH], "seconds": seconds})


async def list_periodic_jobs(db: AsyncConnection) -> list[PeriodicJobRecord]:
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
    """Return where a job continues; None at the start of its list."""
    return (await db.execute(select(chore.c.position).where(chore.c.name == name))).scalar_one_or_none()


async def save_position(db: AsyncConnection, name: str, position: str | None) -> None:
    """Save where the job continues, in the caller's transaction."""
    await db.execute(update(chore).where(chore.c.name == name).values(position=position))


def _record(row: Sequence[Any]) -> PeriodicJobRecord:
    name, every_seconds, budget_seconds, *past = row
    return PeriodicJobRecord(JobSchedule(name, every_seconds, budget_seconds), *past)
