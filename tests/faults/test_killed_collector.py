"""The worker is killed while it collects unused blobs."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay.app.app import App, open_app
from assay.blobs.blobs import path_of
from assay.settings import Settings
from tests.support.collecting import a_source, collect, due, folder_of, is_stored, mark_and_age, objects_in
from tests.support.processes import a_worker, killable
from tests.support.warm import Command

pytestmark = pytest.mark.process

BLOBS, SAVED, KILLS = 400, 20, 5


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, application="test") as opened:
        yield opened


async def test_kill_9_of_the_collector_loses_no_blob_that_is_saved(app: App, tmp_path: Path) -> None:
    """G111: blobs are saved again while the collector is killed: these are kept, all others are deleted in the end."""
    chosen = random.Random(7)
    for number in range(KILLS):
        sources = [a_source(f"{number}-{each}") for each in range(BLOBS)]
        await asyncio.gather(*map(app.blobs.save, sources))
        await mark_and_age(app)
        await due(app)
        saved = chosen.sample(sources, SAVED)
        with a_worker(killable(app.settings), tmp_path / "worker.log") as worker:
            await asyncio.to_thread(wait_for_moves, app, worker, 1)
            saving = asyncio.gather(*map(app.blobs.save, saved))
            await asyncio.to_thread(wait_for_moves, app, worker, chosen.randint(1, BLOBS // 2))
            worker.kill()
            await saving
        await collect_all(app)
        assert [source.digest for source in saved if not await is_stored(app, source.digest)] == []
        assert objects_in(app) == {path_of(source.digest) for source in saved}
        await mark_and_age(app)
        await collect_all(app)


async def collect_all(app: App) -> None:
    """Collect all blobs that are due, and empty the trash."""
    for _ in range(2):
        await collect(app)


def wait_for_moves(app: App, worker: Command, number: int) -> None:
    """Wait until the worker has moved this number of blobs to the trash; polls, because it takes milliseconds."""
    trash = folder_of(app) / "trash"
    while worker.poll() is None and len(list(trash.glob("*"))) < number:
        pass
