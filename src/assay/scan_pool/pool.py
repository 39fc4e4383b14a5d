"""The pool of scan processes: started on demand up to a limit, and replaced when they die."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from assay.model.errors import Unavailable
from assay.model.finding import Report
from assay.model.source import Source
from assay.scan.ruleset import Ruleset, load_ruleset
from assay.scan.scan import ENGINE
from assay.scan_pool.frame import CustomRules, Ready
from assay.scan_pool.process import CUSTOM_RULES, unexamined_report
from assay.scan_pool.saved_engine import has_hyperscan, saved_engine_path, user_cache_folder
from assay.scan_pool.scan_process import CpuTimeExceeded, ScanProcess, ScanProcessDied, start_scan_process

log = structlog.get_logger()
# CPU time that one skill may take. The slowest honest skill takes a few seconds.
CPU_SECONDS = 30.0
# A process that is silent for this long hangs: if it were only slow, the kernel would have killed it.
ANSWER_SECONDS = 4 * CPU_SECONDS
TRIES = 2


@dataclass(frozen=True)
class ScanPoolOptions:
    """The number of scan processes, and how they are started."""

    processes: int
    cache: Path = field(default_factory=user_cache_folder)
    cpu_seconds: float = CPU_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    # -P: do not import from the current folder.
    command: Sequence[str] = (sys.executable, "-P", "-m", "assay.scan_pool.process")


class ScanPool:
    """Runs scans in child processes, in the order of requests. The first process is started for the first skill."""

    def __init__(self, options: ScanPoolOptions, ruleset: Ruleset) -> None:
        self._options = options
        self._ruleset = ruleset
        self._expected = Ready(ENGINE, ruleset.version)
        # Every process has the bundled rules; others are sent to it.
        is_bundled = ruleset.version == load_ruleset().version
        self._custom_rules = None if is_bundled else CustomRules(ruleset.rules, ruleset.traced)
        self._slots = asyncio.Semaphore(options.processes)
        self._idle: list[ScanProcess] = []
        self._processes: set[ScanProcess] = set()

    @property
    def pids(self) -> set[int]:
        """The ids of the running processes."""
        return {process.pid for process in self._processes if process.is_alive}

    async def scan(self, source: Source) -> Report:
        """Scan a source. Raises `Unavailable` if scan processes keep dying while they scan it."""
        async with self._slots:
            # An idle process may have died earlier, which is not the skill's fault: allow one more attempt.
            idled = bool(self._idle)
            for attempt in range(TRIES + idled):
                try:
                    return await self._scan(source, fresh=attempt > 0)
                except CpuTimeExceeded:
                    log.warning("Scan exceeded its CPU time", digest=source.digest)
                    return unexamined_report(
                        self._expected, source.digest, f"it takes more than {self._options.cpu_seconds:g} s"
                    )
                except ScanProcessDied as error:
                    log.warning("Scan process died", digest=source.digest, error=str(error))
        lost = f"The scan failed: {TRIES} scan processes in a row ended while they scanned the skill."
        raise Unavailable(lost, code="scan_process_lost")

    async def prepare(self) -> None:
        """Start the first process now if its engine has to be compiled first, so that no skill waits for that."""
        if not has_hyperscan() or await asyncio.to_thread(self._is_saved):
            return
        log.info("Compiling the scan engine; scans wait until it is ready")
        try:
            async with self._slots:
                self._idle.append(await self._take())
        except (ScanProcessDied, Unavailable) as error:
            # The first scan tries again and reports the failure.
            log.warning("Failed to prepare the scan engine", error=str(error))
        else:
            log.info("Scan engine ready")

    def _is_saved(self) -> bool:
        return saved_engine_path(self._ruleset, self._options.cache).exists()

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop() for process in self._processes))

    async def _scan(self, source: Source, *, fresh: bool) -> Report:
        process = await self._start() if fresh else await self._take()
        try:
            report = await process.scan(source)
        except BaseException:
            # Also on cancellation: its report would be taken for that of the next skill.
            await self._drop(process)
            raise
        self._idle.append(process)
        return report

    async def _take(self) -> ScanProcess:
        """Return the most recently used idle process, so that as few as possible stay busy, or start a new one."""
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            await self._drop(process)
        return await self._start()

    async def _start(self) -> ScanProcess:
        arguments = (CUSTOM_RULES,) if self._custom_rules else ()
        command = (*self._options.command, *arguments, str(self._options.cpu_seconds), str(self._options.cache))
        process = await start_scan_process(command, self._options.answer_seconds)
        self._processes.add(process)
        try:
            if self._custom_rules:
                process.send_rules(self._custom_rules)
            await process.wait_until_ready(self._expected)
        except BaseException:
            await self._drop(process)
            raise
        return process

    async def _drop(self, process: ScanProcess) -> None:
        """Kill a process and wait until it is gone, even if the wait is cancelled: otherwise the next skill would start
        a process beside one that still uses memory and CPU.
        """
        stopping, cancelled = asyncio.ensure_future(process.stop()), None
        while not stopping.done():
            try:
                await asyncio.wait({stopping})
            except asyncio.CancelledError as error:
                cancelled = error
        self._processes.discard(process)
        if cancelled:
            raise cancelled
        stopping.result()


@asynccontextmanager
async def open_scan_pool(options: ScanPoolOptions, ruleset: Ruleset) -> AsyncIterator[ScanPool]:
    """Open a pool for these rules, and kill all its processes on exit."""
    pool = ScanPool(options, ruleset)
    try:
        yield pool
    finally:
        await pool.stop()


@asynccontextmanager
async def preparing(pool: ScanPool) -> AsyncIterator[None]:
    """Prepare the pool in the background, without waiting for it on exit."""
    task = asyncio.create_task(pool.prepare())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def cores() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
