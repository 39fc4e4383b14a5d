"""The pool: as many scan processes as are needed and allowed, and none of them missed when it dies."""

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
from assay.scan_pool.frame import Ready, Rules
from assay.scan_pool.process import GIVEN
from assay.scan_pool.saved_engine import has_engine, kept_in, user_cache_folder
from assay.scan_pool.scanner import Died, OutOfTime, Scanner, start_scanner
from assay.scan_pool.unexamined import unexamined

log = structlog.get_logger()
# Time of a processor that one skill may take; the slowest honest one takes a few seconds.
CPU_SECONDS = 30.0
# A process that says nothing for so long is not slow, for the kernel would have ended it: it stands still.
PATIENCE_SECONDS = 4 * CPU_SECONDS
TRIES = 2


@dataclass(frozen=True)
class ScannerOptions:
    """How many processes there may be, and what each of them is."""

    processes: int
    cache: Path = field(default_factory=user_cache_folder)
    cpu_seconds: float = CPU_SECONDS
    patience_seconds: float = PATIENCE_SECONDS
    # -P: the current folder is no place to import from.
    command: Sequence[str] = (sys.executable, "-P", "-m", "assay.scan_pool.process")


class Scanners:
    """Scans in other processes, first come, first served. The first process is started when the first skill comes."""

    def __init__(self, options: ScannerOptions, ruleset: Ruleset) -> None:
        self._options = options
        self._ruleset = ruleset
        self._expected = Ready(ENGINE, ruleset.version)
        # Every process has the rules that ship; others it is given.
        is_shipped = ruleset.version == load_ruleset().version
        self._given = None if is_shipped else Rules(ruleset.rules, ruleset.traced)
        self._turn = asyncio.Semaphore(options.processes)
        self._idle: list[Scanner] = []
        self._scanners: set[Scanner] = set()

    @property
    def pids(self) -> set[int]:
        """The processes that are there at the moment."""
        return {scanner.pid for scanner in self._scanners if scanner.is_alive}

    async def scan(self, source: Source) -> Report:
        """What there is to say about a source. Raises `Unavailable` if processes die over it."""
        async with self._turn:
            # One that idled may have been gone before; that is no fault of this skill, and what it gets next is new.
            idled = bool(self._idle)
            for attempt in range(TRIES + idled):
                try:
                    return await self._scan(source, anew=attempt > 0)
                except OutOfTime:
                    log.warning("A skill takes too long to scan", digest=source.digest)
                    return unexamined(
                        self._expected, source.digest, f"it takes more than {self._options.cpu_seconds:g} s"
                    )
                except Died as death:
                    log.warning("A scan process is gone", digest=source.digest, problem=str(death))
        lost = f"{TRIES} processes in a row ended while they looked at it."
        raise Unavailable(lost, code="scan_process_lost")

    async def prepare(self) -> None:
        """Start the first process now if its engine has to be made, which takes long, before a skill waits for that."""
        if not has_engine() or await asyncio.to_thread(self._is_kept):
            return
        log.info("The scanner is being made ready; the first skills wait for that")
        try:
            async with self._turn:
                self._idle.append(await self._take())
        except (Died, Unavailable) as problem:
            # The first skill tries again, and is told if that fails.
            log.warning("The scanner could not be made ready", problem=str(problem))
        else:
            log.info("The scanner is ready")

    def _is_kept(self) -> bool:
        return kept_in(self._ruleset, self._options.cache).exists()

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(scanner.stop() for scanner in self._scanners))

    async def _scan(self, source: Source, *, anew: bool) -> Report:
        scanner = await self._start() if anew else await self._take()
        try:
            report = await scanner.look(source)
        except BaseException:
            # Also if nobody waits any more: its answer would be taken for that to the next question.
            await self._drop(scanner)
            raise
        self._idle.append(scanner)
        return report

    async def _take(self) -> Scanner:
        """The process that was last at work, so that no more are kept busy than are needed, or else a new one."""
        while self._idle:
            scanner = self._idle.pop()
            if scanner.is_alive:
                return scanner
            await self._drop(scanner)
        return await self._start()

    async def _start(self) -> Scanner:
        given = (GIVEN,) if self._given else ()
        command = (*self._options.command, *given, str(self._options.cpu_seconds), str(self._options.cache))
        scanner = await start_scanner(command, self._options.patience_seconds)
        self._scanners.add(scanner)
        try:
            if self._given:
                scanner.teach(self._given)
            await scanner.introduce(self._expected)
        except BaseException:
            await self._drop(scanner)
            raise
        return scanner

    async def _drop(self, scanner: Scanner) -> None:
        """End a process. Its place is free when it is gone and not before, however often the wait for that is
        cancelled: else the next skill would have a process beside one that still uses memory and a processor.
        """
        stopping, cancelled = asyncio.ensure_future(scanner.stop()), None
        while not stopping.done():
            try:
                await asyncio.wait({stopping})
            except asyncio.CancelledError as error:
                cancelled = error
        self._scanners.discard(scanner)
        if cancelled:
            raise cancelled
        stopping.result()


@asynccontextmanager
async def open_scanners(options: ScannerOptions, ruleset: Ruleset) -> AsyncIterator[Scanners]:
    """A pool that leaves no process behind, and looks with these rules."""
    scanners = Scanners(options, ruleset)
    try:
        yield scanners
    finally:
        await scanners.stop()


@asynccontextmanager
async def preparing(scanners: Scanners) -> AsyncIterator[None]:
    """Make the pool ready meanwhile, but keep nobody waiting for it at the end."""
    task = asyncio.create_task(scanners.prepare())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
