"""Parallel scanning in one process per CPU, with results in the order of the skills."""

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from assay.cli.scan.rulesets import start_ruleset
from assay.cli.scan.skill import FailedSkill, FoundSkill, Result, scan_skill
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset

# Starting a process takes about as long as scanning this many skills.
SKILLS_PER_PROCESS = 25
# Below this size per process, compiling the fast engine takes longer than scanning with the slower one.
SMALL_SCAN_BYTES = 200_000
# Bounds the results held back until those before them are complete.
QUEUED_PER_PROCESS = 8


def scan_all(skills: Sequence[FoundSkill], ruleset: Ruleset, folder: Path | None) -> Iterator[Result]:
    """Yield the result of each skill; child processes read the ruleset again from `folder`."""
    processes = max(1, min(_cores(), len(skills) // SKILLS_PER_PROCESS))
    fast_start = sum(skill.size_bytes for skill in skills) < SMALL_SCAN_BYTES * processes
    if processes == 1:
        rules = start_ruleset(ruleset, fast_start=fast_start)
        yield from (scan_skill(skill, rules) for skill in skills)
        return
    # Spawn instead of fork: the progress bar runs a thread.
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_ignore_ctrl_c) as pool:
        waiting: deque[tuple[FoundSkill, Future[Result]]] = deque()
        for skill in skills:
            waiting.append((skill, _submit(pool, skill, folder, fast_start)))
            if len(waiting) > QUEUED_PER_PROCESS * processes:
                yield _result_of(*waiting.popleft())
        while waiting:
            yield _result_of(*waiting.popleft())


def _submit(pool: ProcessPoolExecutor, skill: FoundSkill, folder: Path | None, fast_start: bool) -> Future[Result]:
    try:
        return pool.submit(_scan_in_process, skill, folder, fast_start)
    except BrokenExecutor as problem:
        broken: Future[Result] = Future()
        broken.set_exception(problem)
        return broken


def _result_of(skill: FoundSkill, future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenExecutor:
        return FailedSkill(skill.where, "The scanning process died.", "scanner_failed")


def _scan_in_process(skill: FoundSkill, folder: Path | None, fast_start: bool) -> Result:
    return scan_skill(skill, _ruleset(folder, fast_start))


@cache
def _ruleset(folder: Path | None, fast_start: bool) -> Ruleset:
    """Return the ruleset, loaded once per process."""
    return start_ruleset(read_ruleset(folder), fast_start=fast_start)


def _ignore_ctrl_c() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """Return the number of CPUs available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
