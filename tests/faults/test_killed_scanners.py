"""Scan processes that are slow, die or are left behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.model.submission import State
from assay.scan.ruleset import load_ruleset
from assay.scan_pool.pool import ScanPoolOptions, open_scan_pool
from assay.store.submissions.counts import count_by_state
from assay.submit.bulk import admit_batch
from tests.support.processes import a_worker, check_invariants, finished, is_running, scan_processes_of, until
from tests.support.registry import Registry
from tests.support.scan.odd_process import ODD
from tests.support.skills import a_repository, a_skill
from tests.support.submissions import a_request

pytestmark = [pytest.mark.process, pytest.mark.slow]

IN_FLIGHT = 200


@pytest.fixture
async def odd_registry(registry: Registry) -> AsyncIterator[Registry]:
    """Return a registry with one scan process that obeys the skills it scans."""
    options = ScanPoolOptions(1, command=ODD, cpu_seconds=1)
    async with open_scan_pool(options, load_ruleset()) as scanners:
        registry.tools = replace(registry.tools, scanners=scanners)
        yield registry


async def submit_many(registry: Registry, number: int) -> int:
    """Submit distinct skills of one repository."""
    names = [f"skill-{each}" for each in range(number)]
    registry.github.add_repository("acme/tools", files=a_repository(*names))
    async with registry.app.store.begin() as db:
        await admit_batch(db, [a_request(name, "acme/tools", f"skills/{name}/SKILL.md") for name in names])
    return number


async def submit_odd(registry: Registry, *words: str) -> str:
    """Submit a skill that makes its scan process misbehave."""
    registry.github.add_repository("mallory/odd", files={"SKILL.md": a_skill("odd", body="\n".join(words))})
    return (await registry.submit("mallory/odd", "odd"))["id"]


async def count(registry: Registry, state: State) -> int:
    """Return the number of submissions in a state."""
    async with registry.app.store.begin() as db:
        return (await count_by_state(db))[state]


async def test_kill_9_of_scan_processes_loses_nothing(registry: Registry, tmp_path: Path) -> None:
    """Every skill is published once."""
    store, killed = registry.app.store, set()
    with a_worker(registry.app.settings, tmp_path / "worker.log") as worker:
        total = await submit_many(registry, 150)

        async def kill_and_see() -> bool:
            for pid in scan_processes_of(worker.pid) if len(killed) < 6 else ():
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            return await finished(store, total)

        await until(kill_and_see)
    assert len(killed) >= 6
    await check_invariants(store)
    assert total == await count(registry, State.PUBLISHED)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_scan_processes_end_with_their_worker(registry: Registry, tmp_path: Path, number: signal.Signals) -> None:
    """After a graceful stop and after kill -9."""
    with a_worker(registry.app.settings, tmp_path / "worker.log") as worker:
        total = await submit_many(registry, 5)
        await until(lambda: finished(registry.app.store, total))
        processes = scan_processes_of(worker.pid)
        assert processes
        # Signals that a terminal sends to its foreground group do not reach them.
        assert all(os.getsid(pid) == pid for pid in processes)
        worker.send_signal(number)
        code = await asyncio.to_thread(worker.wait, 60)

        async def all_gone() -> bool:
            return not any(is_running(pid) for pid in processes)

        await until(all_gone, 30)
    assert code == (-number if number is signal.SIGKILL else 0)


async def test_fetching_continues_while_scans_are_slow(registry: Registry, tmp_path: Path) -> None:
    """200 other skills are fetched and the web responds."""
    options = ScanPoolOptions(1, command=ODD)
    async with open_scan_pool(options, load_ruleset()) as scanners:
        registry.tools = replace(registry.tools, scanners=scanners)
        await submit_odd(registry, f"wait for: {tmp_path / 'go'}")
        working = asyncio.create_task(registry.work())

        async def is_scanning() -> bool:
            return await count(registry, State.TIER1_SCANNING) == 1

        async def all_are_fetched() -> bool:
            return await count(registry, State.TIER1_SCANNING) == IN_FLIGHT

        await until(is_scanning)
        await submit_many(registry, IN_FLIGHT - 1)
        await until(all_are_fetched)
        assert 200 == (await registry.client.get("/api/v1/queue/health")).status_code
        (tmp_path / "go").touch()
        await working
    assert IN_FLIGHT == await count(registry, State.PUBLISHED)


async def test_scan_timeout_goes_to_review(odd_registry: Registry) -> None:
    """With the reason; the worker continues."""
    accepted = await submit_odd(odd_registry, "burn")
    await submit_many(odd_registry, 3)
    await odd_registry.work()
    detail = await odd_registry.read(accepted)
    assert ("NEEDS_REVIEW", "could_not_be_examined") == (detail["state"], detail["reason"]["code"])
    assert "more than 1 s" in detail["reason"]["message"]
    assert 3 == await count(odd_registry, State.PUBLISHED)


async def test_skill_that_kills_every_scan_process_ends_in_failed(odd_registry: Registry) -> None:
    """After the usual retries; it is not a verdict."""
    accepted = await submit_odd(odd_registry, "die")
    await odd_registry.work()
    detail = await odd_registry.read(accepted)
    assert ("FAILED", "scan_process_lost") == (detail["state"], detail["reason"]["code"])
    assert [] == detail["scanResults"]


async def test_equal_content_is_scanned_once(odd_registry: Registry, tmp_path: Path) -> None:
    """Across names and repositories."""
    files = {"SKILL.md": a_skill("odd", body=f"note: {tmp_path / 'looked'}")}
    for repository, name in (("acme/tools", "first"), ("umbrella/kit", "second")):
        odd_registry.github.add_repository(repository, files=files)
        await odd_registry.submit(repository, name, as_operator=True)
        await odd_registry.work()
    assert 2 == await count(odd_registry, State.PUBLISHED)
    assert 1 == len((tmp_path / "looked").read_text().splitlines())
