"""The pool of scan processes: slow, dying or stuck processes affect only the skill they scan."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from assay.model.errors import Unavailable
from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.checks.unexamined import UNEXAMINED
from assay.scan.ruleset import load_ruleset, ruleset_of
from assay.scan.scan import scan_source
from assay.scan_pool.pool import ScanPool, ScanPoolOptions, open_scan_pool, preparing
from tests.support.processes import is_running, until
from tests.support.scan.odd_process import ODD
from tests.support.skills import a_bad_skill, a_skill

pytestmark = pytest.mark.process

RULESET = load_ruleset()


def a_source(*odd_words: str, name: str = "greet") -> Source:
    """Return a skill that makes an odd process misbehave."""
    return Source({"SKILL.md": a_skill(name, body="\n".join(odd_words)).encode()}, commit="0" * 40)


@asynccontextmanager
async def odd_scanners(processes: int = 1, *words: str, **options: float) -> AsyncIterator[ScanPool]:
    """Start a pool of processes that obey the skills they scan."""
    chosen = ScanPoolOptions(processes, command=(*ODD, *words), **options)
    async with open_scan_pool(chosen, RULESET) as scanners:
        yield scanners


async def test_report_from_a_process_equals_a_direct_scan() -> None:
    """Apart from the added duration."""
    files = {path: text.encode() for path, text in a_bad_skill().items()} | {"logo.png": bytes(range(256)) * 500}
    source = Source(files, commit="0" * 40)
    async with open_scan_pool(ScanPoolOptions(1), RULESET) as scanners:
        report = await scanners.scan(source)
    assert report.duration_ms > 0
    assert scan_source(source, RULESET) == replace(report, duration_ms=0.0)


async def test_processes_start_on_demand_and_stay() -> None:
    """Up to the limit."""
    async with odd_scanners(2) as scanners:
        assert scanners.pids == set()
        for number in range(3):
            await scanners.scan(a_source(name=f"skill-{number}"))
        (first,) = scanners.pids
        await asyncio.gather(*(scanners.scan(a_source(name=f"skill-{number}")) for number in range(20)))
        assert len(scanners.pids) == 2
        assert first in scanners.pids
        left = scanners.pids
    assert not any(is_running(pid) for pid in left)


def made_ready(cache: Path, **options: object) -> AbstractAsyncContextManager[ScanPool]:
    """Return a pool with one rule, whose engine compiles instantly."""
    rules = ruleset_of(rule for rule in RULESET.rules if rule.id == "DR-001" or rule.check)
    return open_scan_pool(ScanPoolOptions(1, cache=cache, **options), rules)


async def test_engine_is_prepared_before_the_first_skill(tmp_path: Path) -> None:
    """By the process that uses it; a saved engine starts nothing."""
    pytest.importorskip("hyperscan", reason="without it there is nothing to make")
    async with made_ready(tmp_path) as scanners:
        await scanners.prepare()
        assert len(list(tmp_path.iterdir())) == 1
        (ready,) = scanners.pids
        await scanners.scan(a_source())
        assert scanners.pids == {ready}
    async with made_ready(tmp_path) as scanners:
        await scanners.prepare()
        assert scanners.pids == set()


async def test_failed_preparation_is_not_fatal(tmp_path: Path) -> None:
    """The worker continues."""
    async with made_ready(tmp_path, command=("/no/such/program",)) as scanners:
        await scanners.prepare()
        assert scanners.pids == set()
    async with made_ready(tmp_path, command=(sys.executable, "-c", "import time; time.sleep(3600)")) as scanners:
        async with preparing(scanners):
            await until(lambda: has_started(scanners))
            (process,) = scanners.pids
        assert not is_running(process)


async def has_started(scanners: ScanPool) -> bool:
    """Return whether a process has started."""
    return bool(scanners.pids)


async def test_scan_timeout_leaves_the_skill_to_a_reviewer() -> None:
    """The process is killed, and the next skill gets a new one."""
    async with odd_scanners(cpu_seconds=0.2) as scanners:
        report = await scanners.scan(a_source("burn"))
        assert [UNEXAMINED] == [finding.family for finding in report.findings]
        assert Decision.REVIEW is static_verdict(report, Policy()).decision
        assert scanners.pids == set()
        assert () == (await scanners.scan(a_source())).findings


async def test_scanner_crash_leaves_the_skill_to_a_reviewer() -> None:
    """The process continues."""
    async with odd_scanners() as scanners:
        report = await scanners.scan(a_source("fail"))
        assert [UNEXAMINED] == [finding.family for finding in report.findings]
        assert "RecursionError" in report.findings[0].message
        (pid,) = scanners.pids
        await scanners.scan(a_source())
        assert {pid} == scanners.pids


async def test_killed_process_costs_one_retry(tmp_path: Path) -> None:
    async with odd_scanners() as scanners:
        assert () == (await scanners.scan(a_source(f"die once: {tmp_path / 'died'}"))).findings
    assert (tmp_path / "died").exists()


async def test_skill_that_kills_processes_is_retried_later() -> None:
    """It is not a verdict, and other skills are unaffected."""
    async with odd_scanners(2) as scanners:
        good = [scanners.scan(a_source(name=f"skill-{number}")) for number in range(6)]
        lost, *reports = await asyncio.gather(scanners.scan(a_source("die")), *good, return_exceptions=True)
        assert isinstance(lost, Unavailable)
        assert "scan_process_lost" == lost.code
        assert not any(isinstance(report, BaseException) for report in reports)


async def test_stuck_process_is_replaced() -> None:
    """It uses no CPU, so the wall-clock timeout applies."""
    async with odd_scanners(answer_seconds=1) as scanners:
        with pytest.raises(Unavailable) as lost:
            await scanners.scan(a_source("stand still"))
        assert "scan_process_lost" == lost.value.code
        assert () == (await scanners.scan(a_source())).findings


async def test_killed_idle_processes_are_not_used() -> None:
    async with odd_scanners(3) as scanners:
        await asyncio.gather(*(scanners.scan(a_source(name=f"skill-{number}")) for number in range(12)))
        for pid in (killed := scanners.pids):
            os.kill(pid, signal.SIGKILL)
        assert () == (await scanners.scan(a_source())).findings
        assert not scanners.pids & killed


async def test_cancelled_scan_is_stopped() -> None:
    """Its result is never returned to the next request."""
    async with odd_scanners() as scanners:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await scanners.scan(a_source("burn"))
        assert scanners.pids == set()
        report = await scanners.scan(source := a_source())
        assert source.digest == report.digest


async def test_process_limit_is_never_exceeded(tmp_path: Path) -> None:
    """A cancelled scan keeps its slot until its process is gone."""
    async with odd_scanners() as scanners:
        await scanners.scan(a_source())
        (pid,) = scanners.pids
        burning = asyncio.create_task(scanners.scan(a_source(f"note: {tmp_path / 'began'}", "burn")))
        await until(lambda: _exists(tmp_path / "began"))
        for _ in range(3):
            burning.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await burning
        # Not even a zombie remains.
        assert not Path(f"/proc/{pid}").exists()
        assert set() == scanners.pids


async def _exists(file: Path) -> bool:
    return file.exists()


async def test_stray_output_does_not_corrupt_a_response() -> None:
    """It goes to the log."""
    async with odd_scanners() as scanners:
        assert () == (await scanners.scan(a_source("print"))).findings


async def test_process_with_another_ruleset_is_rejected() -> None:
    """Reports are stored under the ruleset version."""
    async with odd_scanners(1, "--other-rules") as scanners:
        with pytest.raises(Unavailable) as refused:
            await scanners.scan(a_source())
        assert "rules_changed" == refused.value.code
        assert scanners.pids == set()


async def test_process_that_cannot_be_started() -> None:
    """The skill is retried later."""
    options = ScanPoolOptions(1, command=("/no/such/program",))
    async with open_scan_pool(options, RULESET) as scanners:
        with pytest.raises(Unavailable):
            await scanners.scan(a_source())
        # The slot was released.
        with pytest.raises(Unavailable):
            await scanners.scan(a_source())


async def test_scan_process_has_no_secrets_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_JWT_SECRET", "a-secret-of-the-worker")
    async with odd_scanners() as scanners:
        await scanners.scan(a_source())
        (pid,) = scanners.pids
        assert b"a-secret-of-the-worker" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signal_to_the_group_does_not_end_a_scan(tmp_path: Path, number: signal.Signals) -> None:
    """A service manager signals every process while the worker finishes."""
    async with odd_scanners() as scanners:
        await scanners.scan(a_source())
        (pid,) = scanners.pids
        os.kill(pid, number)
        assert () == (await scanners.scan(a_source(name="second"))).findings
        assert {pid} == scanners.pids
