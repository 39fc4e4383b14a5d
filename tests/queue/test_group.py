"""Group commit: concurrent items share a transaction, and a bad item fails alone."""

import asyncio
from collections.abc import Sequence

import pytest

from assay.model.errors import Unavailable
from assay.queue.batching import Batcher


async def test_items_arriving_during_a_batch_form_the_next_one() -> None:
    """A single item does not wait."""
    sizes: list[int] = []
    release = asyncio.Event()

    async def work(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        await release.wait()
        return [item * 10 for item in items]

    batches = Batcher(work, at_most=8)
    asked = [asyncio.create_task(batches.do(number)) for number in range(20)]
    await asyncio.sleep(0)
    release.set()
    assert await asyncio.gather(*asked) == [number * 10 for number in range(20)]
    assert max(sizes) == 8
    assert len(sizes) <= 4


async def test_bad_item_fails_alone() -> None:
    """The others are retried one by one."""

    async def work(items: Sequence[int]) -> list[int]:
        if 3 in items:
            raise ValueError("three")
        return list(items)

    batches = Batcher(work, at_most=10)
    results = await asyncio.gather(*(batches.do(number) for number in range(6)), return_exceptions=True)
    assert [type(result) for result in results] == [int, int, int, ValueError, int, int]


async def test_outage_fails_the_whole_batch() -> None:
    calls = 0

    async def work(items: Sequence[int]) -> list[int]:
        nonlocal calls
        calls += 1
        raise Unavailable("away")

    batches = Batcher(work, at_most=50)
    results = await asyncio.gather(*(batches.do(number) for number in range(50)), return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)
    assert calls <= 2


async def test_cancelled_item_does_not_affect_others() -> None:
    release = asyncio.Event()
    seen: list[int] = []

    async def work(items: Sequence[int]) -> list[int]:
        seen.extend(items)
        await release.wait()
        return list(items)

    batches = Batcher(work, at_most=1)
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
