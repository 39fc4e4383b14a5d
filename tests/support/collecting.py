"""Collecting blobs in tests."""

import asyncio
from pathlib import Path

from sqlalchemy import text

from assay.app.app import App
from assay.maintenance.collect_blobs import COLLECT_BLOBS, FIND_UNKNOWN_BLOBS
from assay.model.errors import NotFound
from assay.model.source import Source
from assay.runtime.periodic import run_periodic_job
from assay.store.operations.periodic_jobs import register_periodic_jobs
from tests.support.skills import a_skill
from tests.support.web.queue_health import chores_of

DUE = text("UPDATE chore SET succeeded_at = NULL, failed_at = NULL")
AGE = text("UPDATE stored_blob SET unused_since = unused_since - make_interval(hours => :hours)")
IS_WAITING = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def a_source(number: object = 0) -> Source:
    return Source({"SKILL.md": a_skill(f"greet-{number}").encode()}, commit="")


async def collect(app: App) -> int:
    """Run the collector once and return the number of collected blobs."""
    return await _run(app, COLLECT_BLOBS)


async def find_unknown(app: App, digest: str) -> int:
    """Look for unknown blobs where this one is stored, and return their number."""
    await due(app)
    async with app.store.begin() as db:
        shard = {"name": FIND_UNKNOWN_BLOBS, "position": digest[7:9]}
        await db.execute(text("UPDATE chore SET position = :position WHERE name = :name"), shard)
    return await _run(app, FIND_UNKNOWN_BLOBS)


async def mark_and_age(app: App, hours: int = 25) -> None:
    """Have unused blobs marked, and let hours pass for all that are."""
    await collect(app)
    await age(app, hours)


async def age(app: App, hours: int) -> None:
    """Let hours pass for blobs that are marked as unused."""
    async with app.store.begin() as db:
        await db.execute(AGE, {"hours": hours})


async def is_stored(app: App, digest: str) -> bool:
    try:
        return bool(await app.blobs.load(digest))
    except NotFound as missing:
        assert missing.code == "content_not_found"
        return False


def objects_in(app: App) -> set[str]:
    """Return the names of all objects in the folder of blobs, except the mark of the owner."""
    folder = app.settings.data_dir / "blobs"
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} - {"registry"}


def folder_of(app: App) -> Path:
    return app.settings.data_dir / "blobs"


async def until_waiting(app: App) -> None:
    """Wait until a statement waits for a lock."""
    async with asyncio.timeout(30):
        while True:
            async with app.store.begin() as db:
                if (await db.execute(IS_WAITING)).scalar_one():
                    return
            await asyncio.sleep(0.01)


async def due(app: App) -> None:
    """Let the interval of every periodic job pass."""
    async with app.store.begin() as db:
        await register_periodic_jobs(db, [each.schedule for each in chores_of(app).values()])
        await db.execute(DUE)


async def _run(app: App, name: str) -> int:
    await due(app)
    run = await run_periodic_job(app.store, chores_of(app)[name])
    assert run.amount is not None
    return run.amount
