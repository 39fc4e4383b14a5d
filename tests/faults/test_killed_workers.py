"""Workers die at the worst moments; nothing is lost, nothing happens twice."""

import random
from pathlib import Path

from assay.model.submission import Origin, State
from assay.store.submissions.counts import count_by_state
from assay.submit.admission import Request, accept_submission
from assay.submit.validate import wanted_skill
from tests.support.processes import a_worker, check_invariants, finished, killable, until
from tests.support.registry import Registry
from tests.support.skills import a_repository

REPOSITORIES, SKILLS = 10, 20


async def submit_many(registry: Registry, repositories: int = REPOSITORIES, skills: int = SKILLS) -> int:
    """Fill GitHub and the queue."""
    for number in range(repositories):
        names = [f"skill-{each}" for each in range(skills)]
        registry.github.add_repository(f"owner-{number}/repo", files=a_repository(*names))
        async with registry.app.store.begin() as db:
            for name in names:
                url = f"{registry.web_url}/owner-{number}/repo"
                wanted = wanted_skill(url, name, f"skills/{name}/SKILL.md", registry.web_url)
                request = Request(wanted.repository, wanted.skill_name, wanted.skill_path, Origin.API)
                await accept_submission(db, request)
    return repositories * skills


async def test_200_submissions_survive_kill_9_of_their_workers(registry: Registry, tmp_path: Path) -> None:
    """G2: killed at random moments several times, all end, none twice, none lost."""
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
    """G2, G5: racing workers share the work; each submission is scanned and published once."""
    store = registry.app.store
    # Few in flight, so that neither can take everything before the other wakes up.
    few = registry.app.settings.model_copy(update={"worker_batch": 2, "worker_concurrency": 2, "lease_seconds": 30})
    with a_worker(few, tmp_path / "one.log"), a_worker(few, tmp_path / "two.log"):
        total = await submit_many(registry, repositories=6)
        await until(lambda: finished(store, total))
    await check_invariants(store)
    both = [(tmp_path / name).read_text().count('"PUBLISHED ') for name in ("one.log", "two.log")]
    assert sum(both) == total
    assert all(both), "one of the workers did nothing"
