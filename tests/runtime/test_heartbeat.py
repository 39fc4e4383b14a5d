"""Heartbeats of processes."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from assay import __version__
from assay.model.job import Job
from assay.queue.outcome import Done, Outcome
from assay.queue.worker import InFlight
from assay.runtime.heartbeat import heartbeat
from assay.store.database.database import Database, open_database
from assay.store.operations.processes import SeenProcess, list_processes
from tests.support.processes import until
from tests.support.web.statements import statements

JOB = Job(uuid4(), 1)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """Return the database of a process."""
    async with open_database(database_url) as opened:
        yield opened


async def seen(store: Database) -> list[SeenProcess]:
    """Return all registered processes."""
    async with store.begin() as db:
        return await list_processes(db)


async def test_process_is_registered_until_it_ends(store: Database) -> None:
    """G93."""
    in_flight = InFlight()
    async with heartbeat(store, "worker", lambda: in_flight.number, ruleset="sha256:1", every_seconds=0.01):
        [first] = await seen(store)
        assert (first.kind, first.version, first.in_flight, first.ruleset) == ("worker", __version__, 0, "sha256:1")
        in_flight.number = 7
        await until(lambda: _is(seen(store), lambda found: found[0].in_flight == 7))
        [later] = await seen(store)
        assert later.id == first.id
        assert later.seen_at > first.seen_at
        assert later.started_at == first.started_at
    assert await seen(store) == []


async def test_deleted_registration_is_restored(store: Database) -> None:
    async with heartbeat(store, "web", every_seconds=0.01):
        async with store.begin() as db:
            await db.execute(text("DELETE FROM process"))
        await until(lambda: _is(seen(store), bool))


async def test_heartbeat_failure_is_logged_once(store: Database) -> None:
    """G95: and its end once."""
    with capture_logs() as logs:
        async with heartbeat(store, "web", every_seconds=0.001):
            async with store.begin() as db:
                await db.execute(text("ALTER TABLE process RENAME TO away"))
            await until(lambda: _later(logs, "Failed to write"))
            with statements(store) as tried:
                await until(lambda: _is(_now(tried), lambda beats: len(beats) >= 10))
            async with store.begin() as db:
                await db.execute(text("ALTER TABLE away RENAME TO process"))
            await until(lambda: _later(logs, "written again"))
    told = [line["event"] for line in logs]
    assert told == [
        "Failed to write heartbeat",
        "Heartbeat written again",
    ]


async def test_jobs_in_flight_are_counted() -> None:
    in_flight, release = InFlight(), asyncio.Event()

    async def handle(_job: Job) -> Outcome:
        await release.wait()
        if in_flight.number == 1:
            raise RuntimeError("the last one breaks")
        return Done()

    counted = in_flight.counting(handle)
    tasks = [asyncio.create_task(counted(JOB)) for _ in range(3)]
    await asyncio.sleep(0)
    assert in_flight.number == 3
    release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert in_flight.number == 0
    assert [type(result) for result in results] == [Done, Done, RuntimeError]


async def _is(read, condition) -> bool:
    return condition(await read)


async def _now(heard: list[str]) -> list[str]:
    return heard


async def _later(logs: list, words: str) -> bool:
    return any(words in line["event"] for line in logs)
