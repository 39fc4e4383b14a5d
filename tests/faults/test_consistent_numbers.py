"""Every count of the queue agrees at every moment while workers are killed."""

import asyncio
import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from assay.model.submission import ACTIVE, STATE_GROUPS, State, StateGroup, SubmissionFilters
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.store.database.database import Database
from assay.store.submissions.counts import count_all_rows, count_by_state
from assay.submit.bulk import admit_batch
from tests.support.processes import a_worker, check_invariants, finished, killable, until
from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.submissions import a_request

pytestmark = [pytest.mark.process, pytest.mark.slow]

REPOSITORIES, SKILLS, MISSING = 15, 64, 16
TOTAL = REPOSITORIES * (SKILLS + MISSING)
WORKERS, KILLS = 4, 6
PAGE = 500


async def submit_all(registry: Registry) -> None:
    """Fill GitHub and enqueue in bulk; some skills do not exist."""
    for number in range(REPOSITORIES):
        names = [f"skill-{each}" for each in range(SKILLS)]
        registry.github.add_repository(f"owner-{number}/repo", files=a_repository(*names))
    requests = [
        a_request(f"skill-{skill}", f"owner-{repository}/repo")
        for repository in range(REPOSITORIES)
        for skill in range(SKILLS + MISSING)
    ]
    for start in range(0, len(requests), 1000):
        async with registry.app.store.begin() as db:
            await admit_batch(db, requests[start : start + 1000])


async def check_numbers(registry: Registry) -> None:
    """Compare statistics, totals, rows and a full count within one snapshot."""
    async with registry.app.store.snapshot() as db:
        truth = await count_all_rows(db)
        now = registry.app.clock.now()
        everything = await read_queue(db, QueueQuery(limit=1), now)
        assert await count_by_state(db) == truth
        assert everything.stats.by_state == truth
        assert everything.total == everything.stats.total == sum(truth.values())
        for category, states in STATE_GROUPS.items():
            wanted = sum(truth[state] for state in states)
            page = await read_queue(db, QueueQuery(SubmissionFilters(states=states), limit=PAGE), now)
            assert (page.total, page.total_is_exact) == (wanted, True), category
            assert page.stats.by_category[category] == wanted
            assert len(page.submissions) == min(PAGE, wanted)
            if wanted <= PAGE:
                listed = Counter(each.state for each in page.submissions)
                assert listed == Counter({state: truth[state] for state in states if truth[state]})


async def check_answers(registry: Registry) -> None:
    """Check that each HTTP response is consistent in itself."""
    listed = (await registry.client.get("/api/v1/submissions?category=active&limit=500")).json()
    assert len(listed["submissions"]) == min(500, listed["total"])
    stats = (await registry.client.get("/api/v1/submissions/stats")).json()
    assert stats["total"] == sum(stats["byState"].values())
    assert stats["active"] == sum(stats["byState"][state] for state in ACTIVE)


async def check_until_done(registry: Registry, checks: list[int]) -> None:
    """Repeat the checks without a pause."""
    while not await finished(registry.app.store, TOTAL):
        await check_numbers(registry)
        await check_answers(registry)
        checks.append(1)


async def kill_and_replace(store: Database, settings: object, logs: Path, workers: ExitStack) -> None:
    """Run four workers; kill and replace a random one after every N decisions."""
    moments, done = random.Random(11), 0
    running = [workers.enter_context(a_worker(settings, logs / f"{number}.log")) for number in range(WORKERS)]
    for number in range(KILLS):
        done += moments.randint(50, 180)
        await until(lambda reached=done: finished(store, reached))
        victim = moments.randrange(WORKERS)
        running[victim].kill()
        running[victim] = workers.enter_context(a_worker(settings, logs / f"again-{number}.log"))


@pytest.mark.timeout(900)
async def test_counts_agree_at_every_moment(registry: Registry, tmp_path: Path) -> None:
    """G8, G10, G11, G12: 1,200 submissions, four workers, kill -9."""
    assert TOTAL == 1_200
    await submit_all(registry)
    store, checks = registry.app.store, []
    settings = killable(registry.app.settings, lease_seconds=6)
    with ExitStack() as workers:
        async with asyncio.TaskGroup() as group:
            group.create_task(kill_and_replace(store, settings, tmp_path, workers))
            group.create_task(check_until_done(registry, checks))
    await check_invariants(store)
    await check_numbers(registry)
    async with store.begin() as db:
        counts = await count_by_state(db)
    assert (counts[State.PUBLISHED], counts[State.REJECTED]) == (REPOSITORIES * SKILLS, REPOSITORIES * MISSING)
    assert sum(counts[state] for state in STATE_GROUPS[StateGroup.ACTIVE]) == 0
    assert len(checks) > 20, "the numbers were hardly looked at while they changed"
