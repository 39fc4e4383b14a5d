"""The pipeline when two workers hold the same job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import text

from assay.app.worker import worker_options
from assay.fetch.source import FetchedSource, Fetcher
from assay.model.job import Job
from assay.model.submission import Submission
from assay.pipeline import TAKEOVER_RETRY_SECONDS, process
from assay.queue.outcome import Outcome
from assay.queue.worker import run_worker
from assay.store.database.database import Database
from assay.store.submissions.transitions import claim_submissions
from tests.support.processes import check_invariants
from tests.support.registry import Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process


@dataclass
class Overtaken:
    """A fetcher during which another worker takes over the submission."""

    store: Database
    fetcher: Fetcher

    @asynccontextmanager
    async def fetch(self, submission: Submission) -> AsyncIterator[FetchedSource]:
        """Return the source after the takeover."""
        async with self.store.begin() as db:
            await claim_submissions(db, [(submission.id, submission.cycle)], worker="another", lease_seconds=60)
        async with self.fetcher.fetch(submission) as fetched:
            yield fetched


async def work_once(registry: Registry, tools: object) -> None:
    """Run a worker until its first job is settled."""
    stopping = asyncio.Event()

    async def handle(job: Job) -> Outcome:
        try:
            return await process(job, tools)
        finally:
            stopping.set()

    options = replace(worker_options(registry.app.settings), idle_seconds=0.1)
    await run_worker(registry.app.database_url, handle, options, stopping)


async def waiting_jobs(registry: Registry) -> list[float]:
    """Return the delay of each waiting job."""
    due = "SELECT extract(epoch FROM execute_after - now()) FROM pgqueuer WHERE status = 'queued'"
    async with registry.app.store.begin() as db:
        return [float(seconds) for seconds in (await db.execute(text(due))).scalars()]


@pytest.mark.parametrize("fails", [None, "repo"], ids=["while it scans", "while GitHub fails"])
async def test_worker_that_lost_its_lease_does_not_finish_the_job(registry: Registry, fails: str | None) -> None:
    """G5, G25: otherwise the job would be lost if the other worker died."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    accepted = await registry.submit("acme/tools", "greet")
    if fails:
        registry.github.fail(fails, status=502, times=None)
    await work_once(registry, replace(registry.tools, fetcher=Overtaken(registry.app.store, registry.tools.fetcher)))
    (due,) = await waiting_jobs(registry)
    assert TAKEOVER_RETRY_SECONDS / 2 < due <= TAKEOVER_RETRY_SECONDS
    detail = await registry.read(accepted["id"])
    assert ("RECEIVED", 0) == (detail["state"], detail["attempts"]), "it wrote although it had lost the submission"

    registry.github.heal()
    # The other worker disappears, and its lease expires.
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE pgqueuer SET execute_after = now()"))
    await registry.work()
    assert "PUBLISHED" == (await registry.read(accepted["id"]))["state"]
    assert [] == await waiting_jobs(registry)
    await check_invariants(registry.app.store)
