"""Periodic jobs: each has its own interval and time limit and runs in one process at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Unavailable
from assay.runtime.loops import UnexpectedError, log_bugs, run_until_stopped
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import (
    JobSchedule,
    lock_periodic_job,
    record_failure,
    record_success,
    seconds_until_due,
)

log = structlog.get_logger()
RECORD_SECONDS = 10
# Timers may fire slightly early: a job due within this share of its interval counts as due.
EARLY = 0.1


@dataclass(frozen=True)
class PeriodicJob:
    """Maintenance in one transaction; `work` returns the number of items it processed."""

    name: str
    every_seconds: float
    budget_seconds: float
    work: Callable[[AsyncConnection], Awaitable[int]]

    @property
    def schedule(self) -> JobSchedule:
        return JobSchedule(self.name, self.every_seconds, self.budget_seconds)


@dataclass(frozen=True)
class PeriodicRun:
    """The result of one run: `amount` is None if the job was not due or ran elsewhere."""

    amount: int | None
    again_seconds: float


class PeriodicJobFailed(Exception):
    """An error of the job itself that would otherwise look like a database outage."""


async def run_periodic_job(database: Database, job: PeriodicJob) -> PeriodicRun:
    """Run the job if it is due and no other process runs it. The work and its success record commit together."""
    async with asyncio.timeout(job.budget_seconds), database.begin() as db:
        if not await lock_periodic_job(db, job.schedule):
            return PeriodicRun(None, job.every_seconds)
        left = await seconds_until_due(db, job.schedule)
        # More than one interval is left only if the clock was set back; ignore the last run then.
        if job.every_seconds * EARLY < left <= job.every_seconds:
            return PeriodicRun(None, left)
        try:
            amount = await job.work(db)
        except OSError as error:
            # Database errors on an open connection are wrapped by SQLAlchemy, so this is not one.
            raise PeriodicJobFailed(repr(error)) from error
        await record_success(db, job.schedule, amount)
    return PeriodicRun(amount, job.every_seconds)


async def run_periodically(database: Database, job: PeriodicJob, stopping: asyncio.Event) -> None:
    """Run the job at its interval until `stopping` is set; errors do not end the loop."""

    async def run_once() -> float:
        return await _run_and_record(database, job)

    await run_until_stopped(run_once, stopping, "Skipped a periodic job", after_seconds=job.every_seconds, job=job.name)


async def _run_and_record(database: Database, job: PeriodicJob) -> float:
    """Run the job, record a failure unless it is an outage, and return the seconds until the next run."""
    started = monotonic()
    try:
        run = await log_bugs(
            run_periodic_job(database, job), "Periodic job failed", known=(Unavailable, TimeoutError), job=job.name
        )
        log.debug("Periodic job finished", job=job.name, amount=run.amount)
        return run.again_seconds
    except TimeoutError:
        log.error("Periodic job exceeded its time limit", job=job.name, limit_seconds=job.budget_seconds)
        await _record_failure(database, job, f"took longer than {job.budget_seconds:g} s", monotonic() - started)
    except UnexpectedError as bug:
        await _record_failure(database, job, str(bug), monotonic() - started)
    return job.every_seconds


async def _record_failure(database: Database, job: PeriodicJob, error: str, seconds: float) -> None:
    try:
        async with asyncio.timeout(RECORD_SECONDS), database.begin() as db:
            await record_failure(db, job.schedule, error, seconds)
    except (Unavailable, TimeoutError) as outage:
        log.warning("Failed to record the failure of a periodic job", job=job.name, error=repr(outage))
