"""Work that goes on: outages and bugs skip a turn or an item, are told once, and end nothing else."""

import asyncio

import pytest
import structlog

from assay.model.errors import Invalid, Unavailable
from assay.runtime.loops import Bug, do_each, expecting, keep_going

OUTAGE = Unavailable("The database does not answer.", code="away")


async def fail(problem: Exception) -> float:
    raise problem


async def test_what_is_known_passes_and_anything_else_is_a_bug() -> None:
    """A bug is told with its trace, once, and is an error of its own that nobody can take for an outage."""
    with structlog.testing.capture_logs() as logs:
        with pytest.raises(Unavailable):
            await expecting(fail(OUTAGE), "Something failed")
        with pytest.raises(Invalid):
            await expecting(fail(Invalid("no")), "Something failed", known=(Invalid,))
        with pytest.raises(Bug, match=r"^KeyError: 'x'$"):
            await expecting(fail(KeyError("x")), "Something failed", source="npm")
    assert [(each["event"], each["source"], each["log_level"]) for each in logs] == [
        ("Something failed", "npm", "error")
    ]


async def test_turns_go_on_through_outages_and_bugs_until_they_are_stopped() -> None:
    """G30: a loop that ended with its first error would be work that nobody does any more."""
    stopping = asyncio.Event()
    turns: list[Exception | float] = [OUTAGE, 0.0, ValueError("bug"), Invalid("also one"), 0.0]
    taken = 0

    async def turn() -> float:
        nonlocal taken
        told = turns[taken]
        taken += 1
        if taken == len(turns):
            stopping.set()
        return await fail(told) if isinstance(told, Exception) else told

    with structlog.testing.capture_logs() as logs:
        async with asyncio.timeout(10):
            await keep_going(turn, stopping, "Nothing is done for now", after_seconds=0)
    assert taken == 5
    assert [each["event"] for each in logs] == [
        "Nothing is done for now",
        "A bug: Nothing is done for now",
        "A bug: Nothing is done for now",
    ]


async def test_turns_without_a_pause_leave_time_to_others() -> None:
    """G30: work that fails at once, again and again, starves nobody."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stopping.set)
    async with asyncio.timeout(10):
        await keep_going(lambda: fail(OUTAGE), stopping, "Nothing is done for now", after_seconds=0)


async def test_stopping_ends_a_long_wait() -> None:
    """A worker that is asked to end does not sleep on."""
    stopping = asyncio.Event()

    async def turn() -> float:
        asyncio.get_running_loop().call_soon(stopping.set)
        return 3_600.0

    async with asyncio.timeout(10):
        await keep_going(turn, stopping, "Nothing is done for now", after_seconds=3_600)


async def test_one_that_fails_keeps_nobody_from_the_others() -> None:
    """Bounded, settled, each failure told by name."""
    done: list[str] = []
    running = most = 0

    async def work(item: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        if item in ("b", "d"):
            await fail(OUTAGE if item == "b" else ZeroDivisionError())
        done.append(item)

    with structlog.testing.capture_logs() as logs:
        await do_each("abcdef", work, "A look is lost", at_once=2, name=str.upper)
    assert (done, most) == (["a", "c", "e", "f"], 2)
    assert [(each["event"], each["item"]) for each in logs] == [
        ("A look is lost", "B"),
        ("A bug: A look is lost", "D"),
    ]
