"""Two hundred in flight, made of the largest files there may be: a worker's memory stays bounded."""

from pathlib import Path

from assay.fetch.limits import Limits
from assay.model.submission import State
from assay.store.submissions.counts import count_by_state
from assay.submit.bulk import accept_batch
from tests.submit.test_bulk import a_request
from tests.support.processes import a_worker, finished, until
from tests.support.registry import Registry
from tests.support.skills import a_skill

REPOSITORIES, SKILLS, FILES = 20, 10, 2
LIMITS = Limits()
MIB = 1024 * 1024
# Code, interpreter and libraries of an idle worker; what 200 submissions may add is what is measured.
MAY_GROW_BYTES = 300 * MIB


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had, as the system says."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


async def test_two_hundred_skills_of_the_largest_files(registry: Registry, tmp_path: Path) -> None:
    """G39: 400 MB of skills pass through, but only a bounded part of them at a time."""
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
            await accept_batch(db, requests)
        await until(lambda: finished(store, total), 280)
        grown = peak_bytes(worker.pid) - idle
    async with store.begin() as db:
        counts = await count_by_state(db)
    assert counts[State.PUBLISHED] == total
    assert grown < MAY_GROW_BYTES, f"{grown / MIB:.0f} MiB"


async def _is_idle(registry: Registry) -> bool:
    """Whether the worker has said that it is there."""
    return bool((await registry.client.get("/api/v1/queue/health")).json()["processes"])
