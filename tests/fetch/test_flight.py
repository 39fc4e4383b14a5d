"""Once for all who want it at the same time; room for a bounded number of bytes."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.flight import SingleFlight
from assay.fetch.room import Room
from assay.model.errors import Unavailable


class Maker:
    """Makes a result when it is let, and counts how often it was asked."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.asked = 0
        self.gate = asyncio.Event()
        if is_open:
            self.gate.set()

    async def make(self) -> str:
        """The n-th result."""
        self.asked += 1
        mine = self.asked
        await self.gate.wait()
        return f"result {mine}"


def a_flight(at_most: int = 100, weigh: Callable[[str], int] = lambda _: 1) -> SingleFlight[str]:
    """A memory of so much."""
    return SingleFlight(weigh=weigh, at_most=at_most)


async def start(work: Awaitable[str]) -> "asyncio.Future[str]":
    """Begin, and go on as far as it can."""
    task = asyncio.ensure_future(work)
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_many_who_want_the_same_share_one_call() -> None:
    """G35: a hundred askers, one call, and one more for another key."""
    flight, maker = a_flight(), Maker()
    waiting = [await start(flight.get("key", maker.make)) for _ in range(100)]
    other = await start(flight.get("other", maker.make))
    maker.gate.set()
    assert set(await asyncio.gather(*waiting)) == {"result 1"}
    assert await other == "result 2"
    assert await flight.get("key", maker.make) == "result 1"
    assert maker.asked == 2


async def test_one_who_leaves_does_not_take_it_from_the_others() -> None:
    """A cancelled waiter ends alone, also if it was the one who began."""
    flight, maker = a_flight(), Maker()
    first = await start(flight.get("key", maker.make))
    second = await start(flight.get("key", maker.make))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    maker.gate.set()
    assert await second == "result 1"
    assert maker.asked == 1


async def test_what_is_under_way_ends_even_if_all_leave() -> None:
    """The next one finds the result."""
    flight, maker = a_flight(), Maker()
    alone = await start(flight.get("key", maker.make))
    alone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await alone
    maker.gate.set()
    assert await flight.get("key", maker.make) == "result 1"
    assert maker.asked == 1


async def test_a_failure_is_told_to_all_who_wait_and_not_remembered() -> None:
    """G9: the next one tries again."""
    flight, maker, gate = a_flight(), Maker(is_open=True), asyncio.Event()

    async def fail() -> str:
        await gate.wait()
        raise Unavailable("no answer")

    waiting = [await start(flight.get("key", fail)) for _ in range(3)]
    gate.set()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [Unavailable] * 3
    assert await flight.get("key", maker.make) == "result 1"


async def test_a_result_that_is_not_fresh_is_made_again_once() -> None:
    """Those who came after it share one new call."""
    flight, maker = a_flight(), Maker(is_open=True)
    await flight.get("key", maker.make)
    again = [flight.get("key", maker.make, fresh=lambda result: result != "result 1") for _ in range(5)]
    assert set(await asyncio.gather(*again)) == {"result 2"}
    assert await flight.get("key", maker.make) == "result 2"
    assert maker.asked == 2


async def test_who_comes_too_late_for_the_one_under_way_gets_the_next() -> None:
    """What was asked before a push does not answer who submitted after it; still one call for all of those."""
    flight, maker = a_flight(), Maker()
    early = await start(flight.get("key", maker.make))
    late = [await start(flight.get("key", maker.make, fresh=lambda result: result != "result 1")) for _ in range(3)]
    maker.gate.set()
    assert await early == "result 1"
    assert set(await asyncio.gather(*late)) == {"result 2"}
    assert maker.asked == 2


async def test_the_heaviest_memory_is_bounded_by_weight() -> None:
    """G39: the one not used for longest goes first; the newest always stays."""
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


async def test_a_result_heavier_than_the_whole_memory_is_kept_alone() -> None:
    """All skills of the largest repository still share one download."""
    weights = {"result 1": 1, "result 2": 50, "result 3": 1}
    flight, maker = a_flight(at_most=10, weigh=weights.__getitem__), Maker(is_open=True)
    await flight.get("small", maker.make)
    await flight.get("large", maker.make)
    await flight.get("large", maker.make)
    assert maker.asked == 2
    await flight.get("small", maker.make)
    assert maker.asked == 3


async def test_making_the_same_again_does_not_count_twice() -> None:
    """A key that is renewed weighs what its newest result weighs."""
    flight, maker = a_flight(at_most=10, weigh=lambda _: 5), Maker(is_open=True)
    await flight.get("other", maker.make)
    for _ in range(20):
        await flight.get("key", maker.make, fresh=lambda _: False)
    await flight.get("other", maker.make)
    assert maker.asked == 21


SIZES = st.lists(st.integers(0, 150), min_size=1, max_size=30)


@settings(deadline=None)
@given(SIZES, st.randoms())
def test_no_more_is_held_than_there_is_room_for(sizes: list[int], chance: Random) -> None:
    """G39: however many come at once, and whoever gives up, the rest is never below zero and all comes back."""
    asyncio.run(crowd(sizes, chance))


async def crowd(sizes: list[int], chance: Random) -> None:
    """Everybody wants in; some leave while they wait."""
    room, held, served = Room(100), 0, 0

    async def visit(size: int) -> None:
        nonlocal held, served
        async with room.hold(size):
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


async def test_a_large_one_gets_its_turn_among_many_small_ones() -> None:
    """First come, first served: who wants much is not overtaken for ever by those who want little."""
    room, order = Room(100), []

    async def visit(name: str, size: int, leave: asyncio.Event) -> None:
        async with room.hold(size):
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
