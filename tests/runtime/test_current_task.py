"""Who is running: each task sees its own scope, and every scope gives back the one before."""

import asyncio

import pytest

from assay.runtime.current_task import running, who_is_running


async def test_two_hundred_tasks_see_only_themselves() -> None:
    """G24: interleaved at every step, nobody sees or clears another's context."""
    arrived = asyncio.Barrier(200)

    async def work(number: int) -> None:
        with running("submission", submission_id=number) as mine:
            await arrived.wait()
            for _ in range(5):
                assert who_is_running() is mine
                await asyncio.sleep(0)
            assert await asyncio.to_thread(who_is_running) is mine
        assert who_is_running() is None

    await asyncio.gather(*map(work, range(200)))


def test_a_scope_gives_back_the_outer_one_also_after_an_error() -> None:
    """G24: nested scopes restore, on return and on an exception; there is no way to set or clear."""
    assert who_is_running() is None
    with running("job", job=1) as outer:
        with pytest.raises(ValueError, match="inside"), running("submission", submission_id=2):
            raise ValueError("inside")
        assert who_is_running() is outer
    assert who_is_running() is None
