"""Processes of Assay under test, and invariants of their database."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import text

from assay.model.submission import ACTIVE, TRANSITIONS, State
from assay.settings import Settings, variable_name
from assay.store.database.database import Database
from assay.store.submissions.counts import count_all_rows, count_by_state
from tests.support.warm import Command


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment for these settings."""
    given = {}
    for name, value in settings.model_dump().items():
        if value is None or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        shown = (each.get_secret_value() if hasattr(each, "get_secret_value") else str(each) for each in values)
        given[variable_name(name)] = ",".join(shown)
    return {**os.environ, **given}


def killable(settings: Settings, lease_seconds: int = 2) -> Settings:
    """Return settings for workers that are killed: few jobs in flight, so that few wait for a lease. With surviving
    workers the lease must be long enough for a busy machine.
    """
    chosen = {"worker_batch": 10, "worker_concurrency": 3, "scan_processes": 1, "lease_seconds": lease_seconds}
    return settings.model_copy(update=chosen)


def a_worker(settings: Settings, log: Path) -> AbstractContextManager[Command]:
    """Run `assay worker` for the block."""
    return a_process("worker", settings, log)


@contextmanager
def a_process(command: str, settings: Settings, log: Path) -> Iterator[Command]:
    """Run a command of Assay for the block."""
    process = Command([command], environment(settings), given=Path(os.devnull), out=log, err=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def scan_processes_of(pid: int) -> set[int]:
    """Return the scan processes of a worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {
        int(child) for child in children if b"assay.scan_pool.process" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


async def until(condition, seconds: float = 150) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


async def finished(store: Database, at_least: int) -> bool:
    """Return whether this many submissions have left the active states."""
    async with store.begin() as db:
        counts = await count_by_state(db)
    return sum(counts.values()) - sum(counts[state] for state in ACTIVE) >= at_least


async def check_invariants(store: Database) -> None:
    """Check the invariants that hold at any moment, whatever was killed."""
    async with store.snapshot() as db:
        assert await count_by_state(db) == await count_all_rows(db)
        events = (
            await db.execute(
                text("SELECT submission_id, from_state, to_state FROM submission_event ORDER BY submission_id, id")
            )
        ).all()
        states = dict((await db.execute(text("SELECT id, state FROM submission"))).all())
        publishes = (
            await db.execute(text("SELECT data->>'name', data->>'version' FROM change WHERE kind = 'publish'"))
        ).all()
        versions = (
            await db.execute(text("SELECT s.name, v.version FROM skill_version v JOIN skill s ON s.id = v.skill_id"))
        ).all()
        noted = (await db.execute(text("SELECT count(*) FROM change WHERE kind = 'submission'"))).scalar_one()
    last: dict[object, str] = {}
    for submission_id, start, end in events:
        assert last.get(submission_id) == start, "a change of state has no event"
        assert start is None or State(end) in TRANSITIONS[State(start)], f"illegal: {start} → {end}"
        last[submission_id] = end
    assert last == states, "a state is not the one its last event says"
    assert noted == len(events), "events and change records differ"
    assert sorted(publishes) == sorted(versions), "the feed must have each publish exactly once"


def a_free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
