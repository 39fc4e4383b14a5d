"""Batches: what comes together is done together, and one bad item does not spoil the others."""

import asyncio
from collections.abc import Sequence

import pytest

from assay.model.errors import Unavailable
from assay.queue.group import Batches


async def test_items_that_come_during_a_batch_form_the_next_one() -> None:
    """Alone an item does not wait; under load the batches grow, up to their limit."""
    sizes: list[int] = []
    release = asyncio.Event()

    async def work(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        await release.wait()
        return [item * 10 for item in items]

    batches = Batches(work, at_most=8)
    asked = [asyncio.create_task(batches.do(number)) for number in range(20)]
    await asyncio.sleep(0)
    release.set()
    assert await asyncio.gather(*asked) == [number * 10 for number in range(20)]
    assert max(sizes) == 8
    assert len(sizes) <= 4


async def test_one_bad_item_fails_alone() -> None:
    """The others of its batch are done one by one."""

    async def work(items: Sequence[int]) -> list[int]:
        if 3 in items:
            raise ValueError("three")
        return list(items)

    batches = Batches(work, at_most=10)
    results = await asyncio.gather(*(batches.do(number) for number in range(6)), return_exceptions=True)
    assert [type(result) for result in results] == [int, int, int, ValueError, int, int]


async def test_an_outage_fails_the_batch_at_once() -> None:
    """Fifty items do not ask a dead database fifty times."""
    calls = 0

    async def work(items: Sequence[int]) -> list[int]:
        nonlocal calls
        calls += 1
        raise Unavailable("away")

    batches = Batches(work, at_most=50)
    results = await asyncio.gather(*(batches.do(number) for number in range(50)), return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)
    assert calls <= 2


async def test_a_waiter_that_leaves_disturbs_nobody() -> None:
    """A cancelled job's item is dropped if its batch has not begun, and its result if it has."""
    release = asyncio.Event()
    seen: list[int] = []

    async def work(items: Sequence[int]) -> list[int]:
        seen.extend(items)
        await release.wait()
        return list(items)

    batches = Batches(work, at_most=1)
    tasks = [asyncio.create_task(batches.do(number)) for number in range(3)]
    while not seen:
        await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[1].cancel()
    release.set()
    assert await tasks[2] == 2
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert seen == [0, 2]
