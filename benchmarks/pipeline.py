"""Submissions per second end to end, compared with a bare loop and with one at a time; GitHub calls per repository.

    python -m benchmarks.pipeline [--submissions 500]

Everything runs on loopback: a fake GitHub as a separate process, the embedded, durable PostgreSQL, and one worker
process. The bare loop fetches and scans the same skills with the same code, without queue and database.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.app.app import App, open_app
from assay.app.worker import open_tools
from assay.model.ids import new_id
from assay.model.job import Job
from assay.model.repository import Host, Repository, RepositoryName
from assay.model.submission import ACTIVE, Origin, State, Submission
from assay.pipeline import PipelineDependencies, process
from assay.queue.worker import WorkerOptions
from assay.settings import Settings, variable_name, with_secrets
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from assay.store.submissions.counts import count_by_state
from assay.submit.admission import SubmissionRequest, admit_submission

# Best-case latency of GitHub from a well-connected machine.
LATENCY_MS = 50
# Requests are counted, but all come from one address.
HIGH_LIMITS = dict.fromkeys(
    ("ASSAY_LIMIT_READS", "ASSAY_LIMIT_WRITES_ANONYMOUS", "ASSAY_LIMIT_SKILLS_ANONYMOUS"), "1000000000"
)


@dataclass(frozen=True)
class Shape:
    """Number of repositories, and of skills in each."""

    name: str
    repositories: int
    skills: int

    @property
    def requests(self) -> list[SubmissionRequest]:
        return [
            SubmissionRequest(
                RepositoryName(Host.GITHUB, f"bench-{repository}", "skills"),
                f"skill-{skill}",
                f"skills/skill-{skill}/SKILL.md",
                Origin.API,
            )
            for repository in range(self.repositories)
            for skill in range(self.skills)
        ]


@contextmanager
def a_github(shape: Shape, latency_ms: int = 0) -> Iterator[dict[str, Any]]:
    """Run the fake GitHub as a separate process."""
    command = [sys.executable, "-m", "tests.support.fake_github", "--port", "0"]
    command += ["--repositories", str(shape.repositories), "--skills-per-repository", str(shape.skills)]
    command += ["--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


@asynccontextmanager
async def a_registry(folder: Path, urls: dict[str, str]) -> AsyncIterator[tuple[App, PipelineDependencies]]:
    """Open an empty registry on an embedded PostgreSQL."""
    settings = with_secrets(Settings.from_mapping({"ASSAY_DATA_DIR": str(folder), **HIGH_LIMITS, **urls}))
    server = EmbeddedServer(folder / "postgres")
    server.start()
    try:
        async with open_database(server.url) as store:
            await migrate(store)
        async with open_app(settings, application="benchmark") as app, open_tools(app) as tools:
            yield app, tools
    finally:
        server.stop()


async def bare_loop(tools: PipelineDependencies, shape: Shape) -> float:
    """Only fetch and scan, with the concurrency of a worker; return skills per second."""
    gate = asyncio.Semaphore(WorkerOptions().in_flight)

    async def one(request: SubmissionRequest) -> None:
        async with gate, tools.fetcher.fetch(_pretend(request)) as fetched:
            await tools.scanners.scan(fetched.source)

    started = time.perf_counter()
    await asyncio.gather(*map(one, shape.requests))
    return len(shape.requests) / (time.perf_counter() - started)


async def one_at_a_time(app: App, tools: PipelineDependencies, shape: Shape) -> float:
    """Run the pipeline with one submission in flight; return submissions per second."""
    accepted = await submit_all(app, shape)
    started = time.perf_counter()
    for submission in accepted:
        await process(Job(submission.id, submission.cycle), tools)
    return len(accepted) / (time.perf_counter() - started)


async def submit_all(app: App, shape: Shape) -> list[Submission]:
    accepted = []
    for number in range(0, len(shape.requests), 100):
        async with app.store.begin() as db:
            for request in shape.requests[number : number + 100]:
                accepted.append((await admit_submission(db, request)).submission)
    return accepted


async def through_the_queue(app: App, shape: Shape) -> float:
    """Submit everything and measure one worker process from its first to its last decision."""
    await submit_all(app, shape)
    with a_worker(app.settings):
        await until_decided(app, lambda done: done > 0)
        started, before = time.perf_counter(), await _decided(app)
        await until_decided(app, lambda done: done >= len(shape.requests))
        seconds = time.perf_counter() - started
    async with app.store.begin() as db:
        published = (await count_by_state(db))[State.PUBLISHED]
    assert published == len(shape.requests), f"{published} of {len(shape.requests)} published"
    return (len(shape.requests) - before) / seconds


def a_worker(settings: Settings) -> AbstractContextManager[None]:
    return a_command("worker", settings)


@contextmanager
def a_command(command: str, settings: Settings) -> Iterator[None]:
    """Run a command of Assay with these settings for the duration of the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "assay", command],
        env=environment(settings),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def environment(settings: Settings) -> dict[str, str]:
    """Return environment variables that give another process the same settings."""
    configured = {name: value for name, value in settings.model_dump().items() if value not in (None, ())}
    variables = {
        variable_name(name): ",".join(map(_to_text, value)) if isinstance(value, tuple) else _to_text(value)
        for name, value in configured.items()
    }
    return {**os.environ, **variables}


def _to_text(value: object) -> str:
    return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)


async def _decided(app: App) -> int:
    async with app.store.begin() as db:
        counts = await count_by_state(db)
    return sum(counts.values()) - sum(counts[state] for state in ACTIVE)


async def until_decided(app: App, reached: Any) -> None:
    async with asyncio.timeout(600):
        while not reached(await _decided(app)):
            await asyncio.sleep(0.1)


def _pretend(request: SubmissionRequest) -> Submission:
    """Build a submission with the fields that the fetcher reads, without a database."""
    now = datetime.now(UTC)
    nothing = dict.fromkeys(Submission.__dataclass_fields__)
    return replace(
        Submission(**nothing),  # type: ignore[arg-type]
        id=new_id(),
        repository=Repository(1, request.repository, None, None),
        skill_path=request.skill_path,
        received_at=now,
        cycle=1,
    )


def _calls(base_url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{base_url}/_calls", timeout=10) as response:
        return json.load(response)


async def measure(submissions: int) -> dict[str, float]:
    results: dict[str, float] = {}
    many, one = Shape("many repositories", submissions, 1), Shape("one repository", 1, submissions)
    for shape in (many, one):
        with tempfile.TemporaryDirectory() as folder, a_github(shape) as github:
            async with a_registry(Path(folder), github["urls"]) as (app, tools):
                bare = await bare_loop(tools, shape)
                before = _calls(github["base_url"])["charged"]
                queued = await through_the_queue(app, shape)
                calls = _calls(github["base_url"])["charged"] - before
        results[f"{shape.name}: fetch + scan alone, a second"] = bare
        results[f"{shape.name}: end to end, a second"] = queued
        results[f"{shape.name}: end to end / fetch + scan alone"] = queued / bare
        results[f"{shape.name}: GitHub API calls"] = calls
    few = Shape("one at a time", min(submissions, max(20, submissions // 10)), 1)
    with tempfile.TemporaryDirectory() as folder, a_github(many, LATENCY_MS) as github:
        async with a_registry(Path(folder), github["urls"]) as (app, _):
            queued = await through_the_queue(app, many)
    with tempfile.TemporaryDirectory() as folder, a_github(few, LATENCY_MS) as github:
        async with a_registry(Path(folder), github["urls"]) as (app, tools):
            serial = await one_at_a_time(app, tools, few)
    results[f"GitHub answers in {LATENCY_MS} ms: end to end, a second"] = queued
    results[f"GitHub answers in {LATENCY_MS} ms: one at a time, a second"] = serial
    results[f"GitHub answers in {LATENCY_MS} ms: end to end / one at a time"] = queued / serial
    return results


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=500)
    for name, value in asyncio.run(measure(parser.parse_args().submissions)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
