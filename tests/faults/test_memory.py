"""Memory of a worker with 200 submissions of the largest size in flight."""

from pathlib import Path

import pytest

from assay.fetch.limits import Limits
from assay.model.submission import State
from assay.store.submissions.counts import count_by_state
from assay.submit.bulk import admit_batch
from tests.support.processes import a_worker, finished, until
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.submissions import a_request

pytestmark = [pytest.mark.process, pytest.mark.slow]

REPOSITORIES, SKILLS, FILES = 20, 10, 2
LIMITS = Limits()
MIB = 1024 * 1024
# Code and libraries of an idle worker; the test measures what 200 submissions add.
MAY_GROW_BYTES = 300 * MIB


def peak_bytes(pid: int) -> int:
    """Return the peak memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


async def test_memory_is_bounded_with_200_large_skills(registry: Registry, tmp_path: Path) -> None:
    """G39: 400 MB of skills pass through."""
    largest = b"\0" * LIMITS.file_bytes
    for repository in range(REPOSITORIES):
        files: dict[str, str | bytes] = {}
        for skill in range(SKILLS):
            files[f"skill-{skill}/SKILL.md"] = a_skill(f"skill-{skill}", body=f"Of repository {repository}.")
            files |= {f"skill-{skill}/asset-{number}.bin": largest for number in range(FILES)}
        registry.github.add_repository(f"acme/repo-{repository}", files=files)
    total = REPOSITORIES * SKILLS
    assert total == registry.app.settings.worker_batch * registry.app.settings.worker_concurrency
    store = registry.app.store
    with a_worker(registry.app.settings, tmp_path / "worker.log") as worker:
        await until(lambda: _is_idle(registry))
        idle = peak_bytes(worker.pid)
        requests = [
            a_request(f"skill-{skill}", f"acme/repo-{repository}", f"skill-{skill}/SKILL.md")
            for repository in range(REPOSITORIES)
            for skill in range(SKILLS)
        ]
        async with store.begin() as db:
            await admit_batch(db, requests)
        await until(lambda: finished(store, total), 280)
        grown = peak_bytes(worker.pid) - idle
    async with store.begin() as db:
        counts = await count_by_state(db)
    assert counts[State.PUBLISHED] == total
    assert grown < MAY_GROW_BYTES, f"{grown / MIB:.0f} MiB"


async def _is_idle(registry: Registry) -> bool:
    """Return whether the worker has registered."""
    return bool((await registry.client.get("/api/v1/queue/health")).json()["processes"])
