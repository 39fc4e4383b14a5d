"""The pipeline as a worker runs it, where two workers come to hold one job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import text

from assay.app.worker import worker_options
from assay.fetch.source import Fetched, Fetcher
from assay.model.job import Job
from assay.model.submission import Submission
from assay.pipeline import TAKEN_OVER_SECONDS, process
from assay.queue.outcome import Outcome
from assay.queue.worker import run_worker
from assay.store.database.database import Database
from assay.store.submissions.transitions import claim_submissions
from tests.support.processes import check_invariants
from tests.support.registry import Registry
from tests.support.skills import a_skill


@dataclass
class Overtaken:
    """Fetches as ever, but while it does so another worker takes the submission over."""

    store: Database
    fetcher: Fetcher

    @asynccontextmanager
    async def fetch(self, submission: Submission) -> AsyncIterator[Fetched]:
        """The source, too late."""
        async with self.store.begin() as db:
            await claim_submissions(db, [(submission.id, submission.cycle)], worker="another", lease_seconds=60)
        async with self.fetcher.fetch(submission) as fetched:
            yield fetched


async def work_once(registry: Registry, tools: object) -> None:
    """A worker that stops after its first job, once the queue knows what became of that."""
    stopping = asyncio.Event()

    async def handle(job: Job) -> Outcome:
        try:
            return await process(job, tools)
        finally:
            stopping.set()

    options = replace(worker_options(registry.app.settings), idle_seconds=0.1)
    await run_worker(registry.app.database_url, handle, options, stopping)


async def waiting_jobs(registry: Registry) -> list[float]:
    """Of each job that waits, in how many seconds it is due."""
    due = "SELECT extract(epoch FROM execute_after - now()) FROM pgqueuer WHERE status = 'queued'"
    async with registry.app.store.begin() as db:
        return [float(seconds) for seconds in (await db.execute(text(due))).scalars()]


@pytest.mark.parametrize("fails", [None, "repo"], ids=["while it scans", "while GitHub fails"])
async def test_who_lost_a_submission_leaves_the_common_job_to_who_has_it(registry: Registry, fails: str | None) -> None:
    """G5, G25: both hold the same job. Were it ended, nobody would have it if the one who took over died."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    accepted = await registry.submit("acme/tools", "greet")
    if fails:
        registry.github.fail(fails, status=502, times=None)
    await work_once(registry, replace(registry.tools, fetcher=Overtaken(registry.app.store, registry.tools.fetcher)))
    (due,) = await waiting_jobs(registry)
    assert TAKEN_OVER_SECONDS / 2 < due <= TAKEN_OVER_SECONDS
    detail = await registry.read(accepted["id"])
    assert ("RECEIVED", 0) == (detail["state"], detail["attempts"]), "it wrote although it had lost the submission"

    registry.github.heal()
    # The one who took over is never heard of again, and the time is up.
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE pgqueuer SET execute_after = now()"))
    await registry.work()
    assert "PUBLISHED" == (await registry.read(accepted["id"]))["state"]
    assert [] == await waiting_jobs(registry)
    await check_invariants(registry.app.store)
