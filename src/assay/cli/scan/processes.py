"""Many skills at once: as many processes as there are cores, and results in the order of the skills."""

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from assay.cli.scan.rulesets import started
from assay.cli.scan.skill import Failed, Found, Result, examine
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset

# To start a process costs about as much as to scan so many skills.
SKILLS_A_PROCESS = 25
# Below so many bytes a process, the fast engine takes longer to start than the other one to be done.
FEW_BYTES = 200_000
# Results wait for those before them, and so do the skills that are handed out.
AHEAD_A_PROCESS = 8


def examine_all(skills: Sequence[Found], ruleset: Ruleset, folder: Path | None) -> Iterator[Result]:
    """The result of each skill; `folder` is where the ruleset was read from."""
    processes = max(1, min(_cores(), len(skills) // SKILLS_A_PROCESS))
    quickly = sum(skill.size_bytes for skill in skills) < FEW_BYTES * processes
    if processes == 1:
        rules = started(ruleset, quickly=quickly)
        yield from (examine(skill, rules) for skill in skills)
        return
    # Spawned, not forked: the bar of progress has a thread.
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_ignore_ctrl_c) as pool:
        waiting: deque[tuple[Found, Future[Result]]] = deque()
        for skill in skills:
            waiting.append((skill, _submit(pool, skill, folder, quickly)))
            if len(waiting) > AHEAD_A_PROCESS * processes:
                yield _settled(*waiting.popleft())
        while waiting:
            yield _settled(*waiting.popleft())


def _submit(pool: ProcessPoolExecutor, skill: Found, folder: Path | None, quickly: bool) -> Future[Result]:
    try:
        return pool.submit(_examine_there, skill, folder, quickly)
    except BrokenExecutor as problem:
        broken: Future[Result] = Future()
        broken.set_exception(problem)
        return broken


def _settled(skill: Found, future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenExecutor:
        return Failed(skill.where, "The process that scanned it has died.", "scanner_failed")


def _examine_there(skill: Found, folder: Path | None, quickly: bool) -> Result:
    return examine(skill, _ruleset(folder, quickly))


@cache
def _ruleset(folder: Path | None, quickly: bool) -> Ruleset:
    """Read once a process."""
    return started(read_ruleset(folder), quickly=quickly)


def _ignore_ctrl_c() -> None:
    """Ctrl-C reaches all processes of a terminal; the first of them ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
