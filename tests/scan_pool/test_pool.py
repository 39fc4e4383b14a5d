"""The pool of scan processes: they may be slow, die or stand still; nobody but the skill in question notices."""

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
from assay.policy.policy import Policy, judge_report
from assay.scan.checks.unexamined import UNEXAMINED
from assay.scan.ruleset import load_ruleset, ruleset_of
from assay.scan.scan import scan_source
from assay.scan_pool.pool import ScannerOptions, Scanners, open_scanners, preparing
from tests.support.processes import is_running, until
from tests.support.skills import a_bad_skill, a_skill

RULESET = load_ruleset()
ODD = (sys.executable, str(Path(__file__).parents[1] / "support" / "odd_scan_process.py"))


def a_source(*odd_words: str, name: str = "greet") -> Source:
    """A skill that makes an odd process do something."""
    return Source({"SKILL.md": a_skill(name, body="\n".join(odd_words)).encode()}, commit="0" * 40)


@asynccontextmanager
async def odd_scanners(processes: int = 1, *words: str, **options: float) -> AsyncIterator[Scanners]:
    """A pool of processes that do what skills say."""
    chosen = ScannerOptions(processes, command=(*ODD, *words), **options)
    async with open_scanners(chosen, RULESET) as scanners:
        yield scanners


async def test_a_report_from_a_process_is_the_report_of_the_scan() -> None:
    """Nothing is lost on the way, but the time it took is added."""
    files = {path: text.encode() for path, text in a_bad_skill().items()} | {"logo.png": bytes(range(256)) * 500}
    source = Source(files, commit="0" * 40)
    async with open_scanners(ScannerOptions(1), RULESET) as scanners:
        report = await scanners.scan(source)
    assert report.duration_ms > 0
    assert scan_source(source, RULESET) == replace(report, duration_ms=0.0)


async def test_processes_are_started_when_they_are_needed_and_stay() -> None:
    """Who never scans pays nothing; one after the other needs one process; all at once need no more than allowed."""
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


def made_ready(cache: Path, **options: object) -> AbstractAsyncContextManager[Scanners]:
    """A pool with one rule, whose engine is made in no time."""
    rules = ruleset_of(rule for rule in RULESET.rules if rule.id == "DR-001" or rule.check)
    return open_scanners(ScannerOptions(1, cache=cache, **options), rules)


async def test_what_the_first_skill_would_wait_for_is_made_before_it_comes(tmp_path: Path) -> None:
    """The engine is made by the process that then scans with it; where it is kept, nothing is started."""
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


async def test_what_cannot_be_made_ready_is_no_end(tmp_path: Path) -> None:
    """The worker goes on; who waits for it no longer ends it."""
    async with made_ready(tmp_path, command=("/no/such/program",)) as scanners:
        await scanners.prepare()
        assert scanners.pids == set()
    async with made_ready(tmp_path, command=(sys.executable, "-c", "import time; time.sleep(3600)")) as scanners:
        async with preparing(scanners):
            await until(lambda: has_started(scanners))
            (process,) = scanners.pids
        assert not is_running(process)


async def has_started(scanners: Scanners) -> bool:
    """Whether there is a process."""
    return bool(scanners.pids)


async def test_what_takes_too_long_is_left_to_a_person() -> None:
    """It is neither published nor refused, its process is gone, and the next skill gets a new one."""
    async with odd_scanners(cpu_seconds=0.2) as scanners:
        report = await scanners.scan(a_source("burn"))
        assert [UNEXAMINED] == [finding.family for finding in report.findings]
        assert Decision.REVIEW is judge_report(report, Policy()).decision
        assert scanners.pids == set()
        assert () == (await scanners.scan(a_source())).findings


async def test_a_scanner_that_fails_is_no_silence() -> None:
    """Whatever the code of the scanner dies of, the skill is left to a person, and the process goes on."""
    async with odd_scanners() as scanners:
        report = await scanners.scan(a_source("fail"))
        assert [UNEXAMINED] == [finding.family for finding in report.findings]
        assert "RecursionError" in report.findings[0].message
        (pid,) = scanners.pids
        await scanners.scan(a_source())
        assert {pid} == scanners.pids


async def test_a_process_that_is_killed_costs_one_more_try(tmp_path: Path) -> None:
    """The skill is scanned by the next process, as if nothing had happened."""
    async with odd_scanners() as scanners:
        assert () == (await scanners.scan(a_source(f"die once: {tmp_path / 'died'}"))).findings
    assert (tmp_path / "died").exists()


async def test_a_skill_over_which_processes_die_is_tried_again_later() -> None:
    """A dead process is no verdict; and the other skills do not suffer."""
    async with odd_scanners(2) as scanners:
        good = [scanners.scan(a_source(name=f"skill-{number}")) for number in range(6)]
        lost, *reports = await asyncio.gather(scanners.scan(a_source("die")), *good, return_exceptions=True)
        assert isinstance(lost, Unavailable)
        assert "scan_process_lost" == lost.code
        assert not any(isinstance(report, BaseException) for report in reports)


async def test_a_process_that_stands_still_is_replaced() -> None:
    """Stopped, swapped out or stuck: it uses no time of the processor, so patience ends it."""
    async with odd_scanners(patience_seconds=1) as scanners:
        with pytest.raises(Unavailable) as lost:
            await scanners.scan(a_source("stand still"))
        assert "scan_process_lost" == lost.value.code
        assert () == (await scanners.scan(a_source())).findings


async def test_idle_processes_that_were_killed_are_not_used() -> None:
    """However many of them are gone, the next skill does not pay for it."""
    async with odd_scanners(3) as scanners:
        await asyncio.gather(*(scanners.scan(a_source(name=f"skill-{number}")) for number in range(12)))
        for pid in (killed := scanners.pids):
            os.kill(pid, signal.SIGKILL)
        assert () == (await scanners.scan(a_source())).findings
        assert not scanners.pids & killed


async def test_who_no_longer_waits_stops_the_scan() -> None:
    """The answer to a question that was taken back is never given to the next one."""
    async with odd_scanners() as scanners:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await scanners.scan(a_source("burn"))
        assert scanners.pids == set()
        report = await scanners.scan(source := a_source())
        assert source.digest == report.digest


async def test_there_are_never_more_processes_than_allowed(tmp_path: Path) -> None:
    """Not even for a moment: whose scan is cancelled keeps the place until its process is gone, also if told twice."""
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
        # Not even a zombie is left, which would be there until its parent has heard of its end.
        assert not Path(f"/proc/{pid}").exists()
        assert set() == scanners.pids


async def _exists(file: Path) -> bool:
    return file.exists()


async def test_what_is_printed_spoils_no_answer() -> None:
    """A stray line on standard output is a line of the log."""
    async with odd_scanners() as scanners:
        assert () == (await scanners.scan(a_source("print"))).findings


async def test_other_rules_than_the_worker_knows_are_not_used() -> None:
    """Reports are kept under the version of the rules that made them, so the two must be the same."""
    async with odd_scanners(1, "--other-rules") as scanners:
        with pytest.raises(Unavailable) as refused:
            await scanners.scan(a_source())
        assert "rules_changed" == refused.value.code
        assert scanners.pids == set()


async def test_a_process_that_cannot_be_started() -> None:
    """No memory, no program: the skill waits for better times."""
    options = ScannerOptions(1, command=("/no/such/program",))
    async with open_scanners(options, RULESET) as scanners:
        with pytest.raises(Unavailable):
            await scanners.scan(a_source())
        # The turn was given back.
        with pytest.raises(Unavailable):
            await scanners.scan(a_source())


async def test_a_scan_process_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the worker has in its environment is not in that of the process that reads strangers' files."""
    monkeypatch.setenv("ASSAY_JWT_SECRET", "a-secret-of-the-worker")
    async with odd_scanners() as scanners:
        await scanners.scan(a_source())
        (pid,) = scanners.pids
        assert b"a-secret-of-the-worker" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_to_all_does_not_end_a_scan(tmp_path: Path, number: signal.Signals) -> None:
    """A service manager that signals every process of a worker must not take away what the worker still finishes."""
    async with odd_scanners() as scanners:
        await scanners.scan(a_source())
        (pid,) = scanners.pids
        os.kill(pid, number)
        assert () == (await scanners.scan(a_source(name="second"))).findings
        assert {pid} == scanners.pids
