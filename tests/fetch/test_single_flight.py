"""Single flight, and the memory limit."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.checkouts import MemoryBudget
from assay.fetch.single_flight import SingleFlight
from assay.model.errors import Unavailable


class Maker:
    """A maker that waits for permission and counts its calls."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.asked = 0
        self.gate = asyncio.Event()
        if is_open:
            self.gate.set()

    async def make(self) -> str:
        """Return the n-th result."""
        self.asked += 1
        mine = self.asked
        await self.gate.wait()
        return f"result {mine}"


def a_flight(at_most: int = 100, weigh: Callable[[str], int] = lambda _: 1) -> SingleFlight[str]:
    """Return a single flight with this capacity."""
    return SingleFlight(weigh=weigh, at_most=at_most)


async def start(work: Awaitable[str]) -> "asyncio.Future[str]":
    """Start a task and let it run as far as it can."""
    task = asyncio.ensure_future(work)
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_concurrent_callers_share_one_call() -> None:
    """G35."""
    flight, maker = a_flight(), Maker()
    waiting = [await start(flight.get("key", maker.make)) for _ in range(100)]
    other = await start(flight.get("other", maker.make))
    maker.gate.set()
    assert set(await asyncio.gather(*waiting)) == {"result 1"}
    assert await other == "result 2"
    assert await flight.get("key", maker.make) == "result 1"
    assert maker.asked == 2


async def test_cancelled_caller_does_not_affect_others() -> None:
    flight, maker = a_flight(), Maker()
    first = await start(flight.get("key", maker.make))
    second = await start(flight.get("key", maker.make))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    maker.gate.set()
    assert await second == "result 1"
    assert maker.asked == 1


async def test_call_completes_without_callers() -> None:
    flight, maker = a_flight(), Maker()
    alone = await start(flight.get("key", maker.make))
    alone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await alone
    maker.gate.set()
    assert await flight.get("key", maker.make) == "result 1"
    assert maker.asked == 1


async def test_failure_is_not_cached() -> None:
    """G9."""
    flight, maker, gate = a_flight(), Maker(is_open=True), asyncio.Event()

    async def fail() -> str:
        await gate.wait()
        raise Unavailable("no answer")

    waiting = [await start(flight.get("key", fail)) for _ in range(3)]
    gate.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [Unavailable] * 3
    assert await flight.get("key", maker.make) == "result 1"


async def test_stale_result_is_renewed_once() -> None:
    flight, maker = a_flight(), Maker(is_open=True)
    await flight.get("key", maker.make)
    again = [flight.get("key", maker.make, fresh=lambda result: result != "result 1") for _ in range(5)]
    assert set(await asyncio.gather(*again)) == {"result 2"}
    assert await flight.get("key", maker.make) == "result 2"
    assert maker.asked == 2


async def test_caller_newer_than_the_running_call_gets_the_next() -> None:
    flight, maker = a_flight(), Maker()
    early = await start(flight.get("key", maker.make))
    late = [await start(flight.get("key", maker.make, fresh=lambda result: result != "result 1")) for _ in range(3)]
    maker.gate.set()
    assert await early == "result 1"
    assert set(await asyncio.gather(*late)) == {"result 2"}
    assert maker.asked == 2


async def test_cache_is_bounded_by_weight() -> None:
    """G39: least recently used first; the newest stays."""
    flight, maker = a_flight(at_most=10, weigh=lambda _: 4), Maker(is_open=True)
    for key in ("a", "b"):
        await flight.get(key, maker.make)
    await flight.get("a", maker.make)
    await flight.get("c", maker.make)
    assert maker.asked == 3
    await flight.get("a", maker.make)
    await flight.get("c", maker.make)
    assert maker.asked == 3
    await flight.get("b", maker.make)
    assert maker.asked == 4


async def test_result_heavier_than_the_cache_is_kept_alone() -> None:
    weights = {"result 1": 1, "result 2": 50, "result 3": 1}
    flight, maker = a_flight(at_most=10, weigh=weights.__getitem__), Maker(is_open=True)
    await flight.get("small", maker.make)
    await flight.get("large", maker.make)
    await flight.get("large", maker.make)
    assert maker.asked == 2
    await flight.get("small", maker.make)
    assert maker.asked == 3


async def test_renewed_key_counts_once() -> None:
    flight, maker = a_flight(at_most=10, weigh=lambda _: 5), Maker(is_open=True)
    await flight.get("other", maker.make)
    for _ in range(20):
        await flight.get("key", maker.make, fresh=lambda _: False)
    await flight.get("other", maker.make)
    assert maker.asked == 21


SIZES = st.lists(st.integers(0, 150), min_size=1, max_size=30)


@settings(deadline=None)
@given(SIZES, st.randoms())
def test_memory_limit_is_never_exceeded(sizes: list[int], chance: Random) -> None:
    """G39."""
    asyncio.run(crowd(sizes, chance))


async def crowd(sizes: list[int], chance: Random) -> None:
    """Compete for memory; some callers leave while waiting."""
    room, held, served = MemoryBudget(100), 0, 0

    async def visit(size: int) -> None:
        nonlocal held, served
        async with room.reserve(size):
            held += min(size, 100)
            try:
                assert held <= 100
                assert room.free_bytes == 100 - held
                for _ in range(size % 4):
                    await asyncio.sleep(0)
            finally:
                held -= min(size, 100)
        served += 1

    visits = [asyncio.ensure_future(visit(size)) for size in sizes]
    await asyncio.sleep(0)
    leaving = [task for task in visits if chance.random() < 0.2]
    for task in leaving:
        task.cancel()
    async with asyncio.timeout(10):
        ends = await asyncio.gather(*visits, return_exceptions=True)
    assert not [end for end in ends if isinstance(end, Exception)]
    assert served >= len(sizes) - len(leaving)
    assert room.free_bytes == 100


async def test_large_request_is_not_starved() -> None:
    room, order = MemoryBudget(100), []

    async def visit(name: str, size: int, leave: asyncio.Event) -> None:
        async with room.reserve(size):
            order.append(name)
            await leave.wait()

    first, rest = asyncio.Event(), asyncio.Event()
    rest.set()
    visits = [asyncio.ensure_future(visit("first", 60, first))]
    visits.append(asyncio.ensure_future(visit("large", 100, rest)))
    visits.extend(asyncio.ensure_future(visit("small", 10, rest)) for _ in range(5))
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == ["first"]
    first.set()
    await asyncio.gather(*visits)
    assert order == ["first", "large", *["small"] * 5]
