"""Unused blobs are collected while the registry runs, and no others."""

import asyncio
import random
from collections.abc import AsyncIterator

import obstore
import pytest
from sqlalchemy import text

from assay.app.app import App, open_app
from assay.blobs.trash import move_to_trash
from assay.maintenance.collect_blobs import UNUSED_FOR, collect_blobs
from assay.model.errors import Unavailable
from assay.settings import Settings
from assay.store.scans.stored_blobs import PAGE, delete_unused_blobs
from tests.support.collecting import (
    a_source,
    age,
    collect,
    find_unknown,
    folder_of,
    is_stored,
    mark_and_age,
    objects_in,
    until_waiting,
)

ROUNDS = 60


class Interrupted(Exception):
    """Ends a transaction without a commit."""


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, application="test") as opened:
        yield opened


async def test_unused_blob_is_collected_after_a_day(app: App) -> None:
    """G111."""
    digest = await app.blobs.save(a_source())
    await mark_and_age(app, hours=23)
    assert (await collect(app), await is_stored(app, digest)) == (0, True)
    await age(app, hours=2)
    assert (await collect(app), await is_stored(app, digest)) == (1, False)
    assert len(objects_in(app)) == 1, "it is in the trash"
    assert (await collect(app), objects_in(app)) == (0, set())


async def test_blob_that_is_saved_again_is_kept_for_another_day(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    await app.blobs.save(a_source())
    assert await collect(app) == 0
    await age(app, hours=23)
    assert await collect(app) == 0
    assert await is_stored(app, digest)


async def test_collected_blob_can_be_saved_again(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    assert await collect(app) == 1
    await app.blobs.save(a_source())
    for _ in range(2):
        await collect(app)
        assert await is_stored(app, digest)
    assert len(objects_in(app)) == 1


async def test_saving_a_blob_waits_for_the_collector(app: App) -> None:
    """G111."""
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    async with app.store.begin() as db:
        assert await collect_blobs(db, store=app.blobs.store) == 1
        saving = asyncio.create_task(app.blobs.save(a_source()))
        await until_waiting(app)
    assert await saving == digest
    assert await is_stored(app, digest)
    await collect(app)
    assert await is_stored(app, digest)


async def test_collector_leaves_a_blob_that_is_being_saved(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    async with app.store.begin() as saving:
        await saving.execute(text("UPDATE stored_blob SET unused_since = NULL"))
        assert await collect(app) == 0
    assert await is_stored(app, digest)


async def test_collection_without_a_commit_is_undone(app: App) -> None:
    """As after kill -9 or a lost connection."""
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    with pytest.raises(Interrupted):
        async with app.store.begin() as db:
            assert await collect_blobs(db, store=app.blobs.store) == 1
            raise Interrupted
    assert not await is_stored(app, digest)
    await app.blobs.record(digest, 1)
    await collect(app)
    assert await is_stored(app, digest)
    assert len(objects_in(app)) == 1


async def test_collector_that_lost_its_lock_deletes_nothing(app: App) -> None:
    """The blob is saved after the lock is lost and before the collector moves it."""
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    with pytest.raises(Interrupted):
        async with app.store.begin() as db:
            unused = await delete_unused_blobs(db, UNUSED_FOR)
            raise Interrupted
    await app.blobs.save(a_source())
    await move_to_trash(app.blobs.store, unused.sizes)
    await collect(app)
    assert await is_stored(app, digest)


async def test_restoring_does_not_replace_a_blob_that_was_saved_again(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await move_to_trash(app.blobs.store, [digest])
    [trashed] = objects_in(app)
    (folder_of(app) / trashed).write_bytes(b"damaged")
    await app.blobs.save(a_source())
    await collect(app)
    assert await is_stored(app, digest)
    assert len(objects_in(app)) == 1


async def test_no_blob_is_lost_in_a_race_with_the_collector(app: App) -> None:
    """G111: each round, blobs that are due are saved again while collectors run."""
    moments = random.Random(7)
    for number in range(ROUNDS):
        sources = [a_source(f"{number}-{each}") for each in range(4)]
        for source in sources:
            await app.blobs.save(source)
        await mark_and_age(app)

        async def save(source, seconds: float) -> None:
            await asyncio.sleep(seconds)
            await app.blobs.save(source)

        async def run_collector(seconds: float) -> None:
            await asyncio.sleep(seconds)
            async with app.store.begin() as db:
                await collect_blobs(db, store=app.blobs.store)

        saves = (save(source, moments.uniform(0, 0.02)) for source in sources)
        await asyncio.gather(*saves, *(run_collector(moments.uniform(0, 0.02)) for _ in range(2)))
        assert [source.digest for source in sources if not await is_stored(app, source.digest)] == []


async def test_unknown_object_is_recorded_and_collected(app: App) -> None:
    digest = await app.blobs.save(a_source())
    async with app.store.begin() as db:
        await db.execute(text("DELETE FROM stored_blob"))
    (folder_of(app) / "00" / "not-a-blob").parent.mkdir(exist_ok=True)
    (folder_of(app) / "00" / "not-a-blob").write_text("")
    assert await find_unknown(app, f"sha256:{'0' * 64}") == 0
    assert (await find_unknown(app, digest), await find_unknown(app, digest)) == (1, 0)
    await mark_and_age(app)
    assert await collect(app) == 1
    await collect(app)
    assert objects_in(app) == {"00/not-a-blob"}


async def test_blob_store_of_another_registry_is_left_alone(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    obstore.put(app.blobs.store, "registry", b"another")
    for work in (collect(app), find_unknown(app, digest)):
        with pytest.raises(Unavailable) as refused:
            await work
        assert refused.value.code == "blobs_of_another_registry"
    assert await is_stored(app, digest)


async def test_failing_blob_store_changes_nothing(app: App) -> None:
    digest = await app.blobs.save(a_source())
    await mark_and_age(app)
    trash = folder_of(app) / "trash"
    trash.write_text("a file where the folder should be")
    with pytest.raises(Unavailable):
        await collect(app)
    trash.unlink()
    assert await is_stored(app, digest)
    assert await collect(app) == 1


async def test_runs_continue_where_the_last_one_ended(app: App) -> None:
    async with app.store.begin() as db:
        rows = "SELECT 'sha256:' || encode(sha256(i::text::bytea), 'hex'), 1 FROM generate_series(1, :number) AS i"
        await db.execute(text(f"INSERT INTO stored_blob (digest, size_bytes) {rows}"), {"number": 2 * PAGE + 1})
    left = []
    for _ in range(3):
        await collect(app)
        async with app.store.begin() as db:
            left.append(
                (await db.execute(text("SELECT count(*) FROM stored_blob WHERE unused_since IS NULL"))).scalar()
            )
    assert left == [PAGE + 1, 1, 0]
