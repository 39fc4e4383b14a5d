"""Real processes of Assay under test, and what must hold in their database afterwards."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import text

from assay.model.submission import ACTIVE, TRANSITIONS, State
from assay.settings import Settings, variable
from assay.store.database.database import Database
from assay.store.submissions.counts import count_by_state, recount
from tests.support.warm import Command


def environment(settings: Settings) -> dict[str, str]:
    """The variables that give another process the same settings."""
    given = {}
    for name, value in settings.model_dump().items():
        if value is None or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        shown = (each.get_secret_value() if hasattr(each, "get_secret_value") else str(each) for each in values)
        given[variable(name)] = ",".join(shown)
    return {**os.environ, **given}


def killable(settings: Settings, lease_seconds: int = 2) -> Settings:
    """For workers that are killed: few jobs are in flight, so that few wait for the lease of the dead.

    Where others live on, the lease has to be so long that none of them loses it only because the machine is busy.
    """
    chosen = {"worker_batch": 10, "worker_concurrency": 3, "scan_processes": 1, "lease_seconds": lease_seconds}
    return settings.model_copy(update=chosen)


def a_worker(settings: Settings, log: Path) -> AbstractContextManager[Command]:
    """`assay worker`, ended at the latest when the block ends."""
    return a_process("worker", settings, log)


@contextmanager
def a_process(command: str, settings: Settings, log: Path) -> Iterator[Command]:
    """A command of Assay, ended at the latest when the block ends."""
    process = Command([command], environment(settings), given=Path(os.devnull), out=log, err=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is not only waiting to be buried."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def scan_processes_of(pid: int) -> set[int]:
    """The scan processes that a worker has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {
        int(child) for child in children if b"assay.scan_pool.process" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


async def until(condition, seconds: float = 150) -> None:
    """Wait for something to become true, and fail with its name if it does not."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.05)


async def finished(store: Database, at_least: int) -> bool:
    """Whether so many submissions have left the active states."""
    async with store.begin() as db:
        counts = await count_by_state(db)
    return sum(counts.values()) - sum(counts[state] for state in ACTIVE) >= at_least


async def check_invariants(store: Database) -> None:
    """What must hold at any moment, whatever was killed: the database tells one consistent story."""
    async with store.snapshot() as db:
        assert await count_by_state(db) == await recount(db)
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
