"""How much more work more text is, on a machine that others use, too."""

import time
from collections.abc import Callable

import pytest


def cpu_seconds(work: Callable[[], object], tries: int = 3) -> float:
    """The least of so many: others can only make it more."""
    taken = []
    for _ in range(tries):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def assert_grows_at_most(
    times: float, small: Callable[[], object], large: Callable[[], object], least: float = 0.0
) -> None:
    """The large work is less than so many times the small one, or than what is too little to be measured; what seems
    to be more is measured once more, and longer.
    """
    for tries in (1, 3):
        before, after = cpu_seconds(small, tries + 1), cpu_seconds(large, tries)
        if after < times * max(before, least):
            return
    pytest.fail(f"{after:.3f} s instead of {before:.3f} s, where {times} times as much is allowed")
