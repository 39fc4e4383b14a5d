"""Workers are killed at the worst moments."""

import random
from pathlib import Path

import pytest

from assay.model.submission import State
from assay.store.submissions.counts import count_by_state
from tests.support.processes import a_worker, check_invariants, finished, killable, until
from tests.support.registry import Registry
from tests.support.submissions import submit_many

pytestmark = pytest.mark.process


async def test_submissions_survive_kill_9_of_workers(registry: Registry, tmp_path: Path) -> None:
    """G2: 200 submissions, none lost, none processed twice."""
    total = await submit_many(registry)
    store, settings = registry.app.store, killable(registry.app.settings)
    moments = random.Random(7)
    done = 0
    for _ in range(4):
        done += moments.randint(10, 40)
        with a_worker(settings, tmp_path / "worker.log"):
            await until(lambda reached=done: finished(store, reached))
        await check_invariants(store)
    with a_worker(settings, tmp_path / "worker.log"):
        await until(lambda: finished(store, total))
    await check_invariants(store)
    async with store.begin() as db:
        assert (await count_by_state(db))[State.PUBLISHED] == total


async def test_two_workers_process_each_submission_once(registry: Registry, tmp_path: Path) -> None:
    """G2, G5."""
    store = registry.app.store
    # Few in flight, so that neither can take everything before the other starts.
    few = registry.app.settings.model_copy(update={"worker_batch": 2, "worker_concurrency": 2, "lease_seconds": 30})
    with a_worker(few, tmp_path / "one.log"), a_worker(few, tmp_path / "two.log"):
        total = await submit_many(registry, repositories=6)
        await until(lambda: finished(store, total))
    await check_invariants(store)
    both = [(tmp_path / name).read_text().count('"state": "PUBLISHED"') for name in ("one.log", "two.log")]
    assert sum(both) == total
    assert all(both), "one of the workers did nothing"
