"""The current task for logs: scopes are isolated and restored."""

import asyncio

import pytest

from assay.runtime.current_task import current_task, task_scope


async def test_scopes_of_200_tasks_are_isolated() -> None:
    """G24."""
    arrived = asyncio.Barrier(200)

    async def work(number: int) -> None:
        with task_scope("submission", submission_id=number) as mine:
            await arrived.wait()
            for _ in range(5):
                assert current_task() is mine
                await asyncio.sleep(0)
            assert await asyncio.to_thread(current_task) is mine
        assert current_task() is None

    await asyncio.gather(*map(work, range(200)))


def test_nested_scope_restores_the_outer_one() -> None:
    """G24: also after an exception."""
    assert current_task() is None
    with task_scope("job", job=1) as outer:
        with pytest.raises(ValueError, match="inside"), task_scope("submission", submission_id=2):
            raise ValueError("inside")
        assert current_task() is outer
    assert current_task() is None
