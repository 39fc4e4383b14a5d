"""Growth of work with input size, on a shared machine."""

import time
from collections.abc import Callable

import pytest


def cpu_seconds(work: Callable[[], object], tries: int = 3) -> float:
    """Return the minimum CPU time of several runs."""
    taken = []
    for _ in range(tries):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def assert_grows_at_most(
    times: float, small: Callable[[], object], large: Callable[[], object], least: float = 0.0
) -> None:
    """Assert that large work takes at most this multiple of small work, ignoring times too short to measure; a
    failure is measured again, longer.
    """
    for tries in (1, 3):
        before, after = cpu_seconds(small, tries + 1), cpu_seconds(large, tries)
        if after < times * max(before, least):
            return
    pytest.fail(f"{after:.3f} s instead of {before:.3f} s, where {times} times as much is allowed")
