"""Concurrent writers, killed workers and a lost edge copy: all views agree at every pause."""

import asyncio
import json
import random
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.agreement import check_agreement
from tests.support.processes import a_worker
from tests.support.registry import Registry
from tests.support.storm import Storm

pytestmark = [pytest.mark.process, pytest.mark.slow]

WRITERS, ACTS = 8, 12
WORKERS = 2
# Logged when an unexpected error occurs.
BUG = "Unexpected error"


async def test_all_views_agree_at_every_pause(registry: Registry, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """G72: database, edge copy, search, feed and pages, whatever was killed."""
    rounds, seed = pytestconfig.getoption("storm_rounds"), pytestconfig.getoption("storm_seed")
    storm = Storm(registry)
    chance = random.Random(seed)
    with capture_logs() as logs, ExitStack() as stack:
        workers = Workers(registry, tmp_path / "workers.log", stack)
        for number in range(rounds):
            try:
                await one_round(storm, workers, chance, loses_the_copy=number == 1)
                await settle(storm)
                live = await check_agreement(registry, tmp_path / f"expected-{number}")
                assert [each for each in logs if each["event"].startswith(BUG)] == []
                assert workers.bugs() == []
            except BaseException as problem:
                problem.add_note(f"seed {seed}, round {number}, done so far: {dict(storm.done)}")
                problem.add_note("\n".join(repr(each)[:1500] for each in logs[-30:]))
                raise
            print(f"round {number}: {live} live", dict(storm.done))
    assert storm.done["acts"] == rounds * WRITERS * ACTS


async def one_round(storm: Storm, workers: "Workers", chance: random.Random, *, loses_the_copy: bool) -> None:
    """Run all writers at once; kill one worker meanwhile, and later all of them."""
    start, all_acts = storm.done["acts"], WRITERS * ACTS

    async def reached(share: float) -> None:
        while storm.done["acts"] - start < share * all_acts:
            await asyncio.sleep(0.005)

    async def kill() -> None:
        await reached(chance.uniform(0.1, 0.4))
        workers.replace(chance.randrange(WORKERS))
        if loses_the_copy:
            await storm.registry.app.edge.clear()
        await reached(chance.uniform(0.5, 0.9))
        for number in range(WORKERS):
            workers.replace(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(kill())
        for _ in range(WRITERS):
            group.create_task(storm.blow(random.Random(chance.random()), ACTS))


async def settle(storm: Storm) -> None:
    """Wait until nothing is active and listings match their sources."""
    for _ in range(2):
        await storm.registry.until_idle()
        await storm.look()
    await storm.registry.until_idle()


class Workers:
    """Worker processes that are killed and replaced."""

    def __init__(self, registry: Registry, log: Path, stack: ExitStack) -> None:
        # They check upstream only when the storm requests it.
        self._settings = registry.app.settings.model_copy(update={"watch_seconds": 0, "scan_processes": 1})
        self.log, self._stack = log, stack
        self._running = [self._start() for _ in range(WORKERS)]

    def replace(self, number: int) -> None:
        """Kill one worker and start another."""
        assert self._running[number].poll() is None, f"a worker ended by itself: {self.log.read_text()[-3000:]}"
        self._running[number].send_signal(signal.SIGKILL)
        self._running[number].wait()
        self._running[number] = self._start()

    def bugs(self) -> list[str]:
        """Return the last log lines about unexpected errors."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if BUG in line]
        return [f"{line['event']}: {line.get('exception', '')[-1500:]}" for line in lines]

    def _start(self):
        return self._stack.enter_context(a_worker(self._settings, self.log))
