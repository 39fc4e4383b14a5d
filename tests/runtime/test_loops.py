"""Loops: outages and errors skip a turn or an item, are logged once, and stop nothing else."""

import asyncio

import pytest
import structlog

from assay.model.errors import Invalid, Unavailable
from assay.runtime.loops import UnexpectedError, for_each_bounded, log_bugs, run_until_stopped

OUTAGE = Unavailable("The database does not answer.", code="away")


async def fail(problem: Exception) -> float:
    raise problem


async def test_unexpected_errors_are_logged_and_wrapped() -> None:
    with structlog.testing.capture_logs() as logs:
        with pytest.raises(Unavailable):
            await log_bugs(fail(OUTAGE), "Something failed")
        with pytest.raises(Invalid):
            await log_bugs(fail(Invalid("no")), "Something failed", known=(Invalid,))
        with pytest.raises(UnexpectedError, match=r"^KeyError: 'x'$"):
            await log_bugs(fail(KeyError("x")), "Something failed", source="npm")
    assert [(each["event"], each["source"], each["log_level"]) for each in logs] == [
        ("Something failed", "npm", "error")
    ]


async def test_loop_continues_after_outages_and_errors() -> None:
    """G30."""
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
            await run_until_stopped(turn, stopping, "Nothing is done for now", after_seconds=0)
    assert taken == 5
    assert [each["event"] for each in logs] == [
        "Nothing is done for now",
        "Unexpected error: Nothing is done for now",
        "Unexpected error: Nothing is done for now",
    ]


async def test_loop_without_delay_yields_to_others() -> None:
    """G30."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stopping.set)
    async with asyncio.timeout(10):
        await run_until_stopped(lambda: fail(OUTAGE), stopping, "Nothing is done for now", after_seconds=0)


async def test_stopping_ends_a_long_wait() -> None:
    stopping = asyncio.Event()

    async def turn() -> float:
        asyncio.get_running_loop().call_soon(stopping.set)
        return 3_600.0

    async with asyncio.timeout(10):
        await run_until_stopped(turn, stopping, "Nothing is done for now", after_seconds=3_600)


async def test_failing_item_does_not_stop_the_others() -> None:
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
        await for_each_bounded("abcdef", work, "A look is lost", at_once=2, name=str.upper)
    assert (done, most) == (["a", "c", "e", "f"], 2)
    assert [(each["event"], each["item"]) for each in logs] == [
        ("A look is lost", "B"),
        ("Unexpected error: A look is lost", "D"),
    ]
