"""The health of the queue."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from sqlalchemy import text

from assay.app.app import App
from assay.app.maintenance import watch_limits
from assay.maintenance.schedule import periodic_jobs
from assay.model.clock import Clock
from assay.runtime.periodic import PeriodicJob, run_periodic_job
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import register_periodic_jobs
from assay.web.app import create_app


@asynccontextmanager
async def reader(app: App, ahead: timedelta = timedelta(0)) -> AsyncIterator[httpx.AsyncClient]:
    """Return a web process whose clock is ahead."""
    clock = Clock(lambda: datetime.now(UTC) + ahead)
    transport = httpx.ASGITransport(create_app(replace(app, clock=clock)), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def health_of(app: App, ahead: timedelta = timedelta(0)) -> dict[str, Any]:
    """Return the health as read this much later."""
    async with reader(app, ahead) as client:
        answer = await client.get("/api/v1/queue/health")
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(health: dict[str, Any]) -> list[str]:
    """Return the alarms with their subjects."""
    return [f"{each['code']}:{each['subject']}" if each["subject"] else each["code"] for each in health["alarms"]]


def chores_of(app: App) -> dict[str, PeriodicJob]:
    """Return the periodic jobs of a worker."""
    jobs = periodic_jobs(watch_limits(app.settings), app.clock, app.ruleset.version, app.blobs.store)
    return {job.name: job for job in jobs}


async def do_all_chores(app: App) -> None:
    """Run every periodic job once."""
    chores = chores_of(app).values()
    async with app.store.begin() as db:
        await register_periodic_jobs(db, [chore.schedule for chore in chores])
    for chore in chores:
        await run_periodic_job(app.store, chore)


async def seen(store: Database) -> bool:
    """Return whether a process has registered."""
    async with store.begin() as db:
        return (await db.execute(text("SELECT count(*) FROM process"))).scalar_one() > 0
