"""Worker failures are visible over HTTP, and nothing stays undone."""

import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from assay.app.app import App
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import PeriodicJobRecord, list_periodic_jobs
from tests.support.processes import a_process, a_worker, check_invariants, finished, until
from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.submissions import submit_many
from tests.support.web.queue_health import codes, do_all_chores, health_of, seen

pytestmark = pytest.mark.process

NOT_SEEN_FOR = timedelta(seconds=31)


async def test_loss_of_the_only_worker_raises_and_clears_an_alarm(registry: Registry, tmp_path: Path) -> None:
    """G93."""
    app, log = registry.app, tmp_path / "worker.log"
    with a_worker(app.settings, log) as worker:
        await until(lambda: has_watched(app))
        await submit_many(registry, repositories=1, skills=1)
        await until(lambda: finished(app.store, 1))
        worker.send_signal(signal.SIGKILL)
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    waiting = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    # Read with a clock that is ahead instead of waiting for the timeout.
    assert "no_worker" in codes(await health_of(app, NOT_SEEN_FOR))
    with a_worker(app.settings, log):
        await until(lambda: finished(app.store, 2))
        await until(lambda: is_clear(app, "no_worker"))
        assert (await registry.read(waiting["id"]))["state"] == "PUBLISHED"
    await check_invariants(app.store)


async def test_stopped_processes_deregister(registry: Registry, tmp_path: Path) -> None:
    """G93: a web process too, so that only failures raise alarms."""
    app = registry.app
    chosen = app.settings.model_copy(update={"port": 0})
    with a_worker(chosen, tmp_path / "worker.log") as worker, a_process("web", chosen, tmp_path / "web.log") as web:
        await until(lambda: kinds_are(app, {"web", "worker"}))
        for process in (worker, web):
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    assert not await seen(app.store)


async def test_periodic_jobs_move_to_another_worker(registry: Registry, tmp_path: Path) -> None:
    """G30: after kill -9."""
    store = registry.app.store
    with a_worker(registry.app.settings, tmp_path / "one.log") as one:
        await until(lambda: all_done(store, datetime(2000, 1, 1, tzinfo=UTC)))
        with a_worker(registry.app.settings, tmp_path / "two.log"):
            await until(lambda: kinds_are(registry.app, {"worker"}, 2))
            one.send_signal(signal.SIGKILL)
            one.wait()
            killed = await now(store)
            await until(lambda: all_done(store, killed, ("number changes",)))
    async with store.begin() as db:
        assert [chore for chore in await list_periodic_jobs(db) if chore.failures] == []


async def test_orphaned_submission_is_rescued(registry: Registry, tmp_path: Path) -> None:
    """G25."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    store = registry.app.store
    async with store.begin() as db:
        await db.execute(text("DELETE FROM pgqueuer"))
        await db.execute(text("UPDATE submission SET updated_at = updated_at - interval '2 minutes'"))
    health = await health_of(registry.app)
    assert health["orphaned"]["count"] == 1
    with a_worker(registry.app.settings, tmp_path / "worker.log"):
        await until(lambda: finished(store, 1))
    assert "Enqueued submissions that had no job" in (tmp_path / "worker.log").read_text()
    assert (await health_of(registry.app))["orphaned"]["count"] == 0


async def test_unreadable_job_is_reported_and_its_submission_published(registry: Registry, tmp_path: Path) -> None:
    """G25: in health and metrics; the worker continues."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    broken = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    store = registry.app.store
    async with store.begin() as db:
        await db.execute(text(r"UPDATE pgqueuer SET payload = '\xff'"))
        await db.execute(text("UPDATE submission SET updated_at = updated_at - interval '2 minutes'"))
    other = await registry.submit("acme/tools", "csv", "skills/csv/SKILL.md")
    with a_worker(registry.app.settings, tmp_path / "worker.log") as worker:
        await until(lambda: finished(store, 1))
        assert (await registry.read(other["id"]))["state"] == "PUBLISHED"
        await until(lambda: is_held(store))
        await hurry(store)
        await do_all_chores(registry.app)
        await until(lambda: finished(store, 2))
        assert worker.poll() is None
    health = await health_of(registry.app)
    assert health["corrupt"]["count"] == len(health["corrupt"]["jobIds"]) == 1
    assert "unreadable_jobs" in codes(health)
    metrics = (await registry.client.get("/metrics")).text
    assert re.search(r"^assay_corrupt_jobs 1\.0$", metrics, re.MULTILINE)
    assert (await registry.read(broken["id"]))["state"] == "PUBLISHED"
    await check_invariants(store)


async def hurry(store: Database) -> None:
    """Make every periodic job due now."""
    async with store.begin() as db:
        await db.execute(text("UPDATE chore SET succeeded_at = NULL"))


async def now(store: Database) -> datetime:
    """Return the database's time."""
    async with store.begin() as db:
        return (await db.execute(text("SELECT now()"))).scalar_one()


async def is_held(store: Database) -> bool:
    """Return whether the queue holds a failed job."""
    async with store.begin() as db:
        return (await db.execute(text("SELECT count(*) FROM pgqueuer WHERE status = 'failed'"))).scalar_one() == 1


async def all_done(store: Database, since: datetime, names: tuple[str, ...] | None = None) -> bool:
    """Return whether these periodic jobs, or all, have run since then."""
    async with store.begin() as db:
        chores = await list_periodic_jobs(db)
    wanted = [chore for chore in chores if names is None or chore.schedule.name in names]
    return bool(wanted) and all(_succeeded(chore) > since for chore in wanted)


def _succeeded(chore: PeriodicJobRecord) -> datetime:
    return chore.succeeded_at or datetime.min.replace(tzinfo=UTC)


async def has_watched(app: App) -> bool:
    """Return whether the queue has been watched."""
    return "detector_blind" not in codes(await health_of(app))


async def is_clear(app: App, code: str) -> bool:
    """Return whether an alarm has cleared."""
    return code not in codes(await health_of(app))


async def kinds_are(app: App, kinds: set[str], number: int | None = None) -> bool:
    """Return whether exactly these kinds of processes are registered."""
    processes: list[dict[str, Any]] = (await health_of(app))["processes"]
    return {each["kind"] for each in processes} == kinds and (number is None or len(processes) == number)
