"""Batching of concurrent requests: while one batch runs, the next one collects.

There is no timer: without load every batch has one item; under load batches grow.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from assay.model.errors import Unavailable

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Runs concurrent requests in batches. If a batch fails for another reason than an outage, each item runs alone."""

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, at_most: int) -> None:
        self._work = work
        self._at_most = at_most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def do(self, item: T) -> R:
        """Return the result of this item once its batch has finished."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run())
        return await result

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._at_most], self._waiting[self._at_most :]
            pending = [(item, result) for item, result in batch if not result.cancelled()]
            if pending:
                await self._do(pending)

    async def _do(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self._work([item for item, _ in batch])
        except Exception as error:  # noqa: BLE001 - passed on to the callers
            if len(batch) > 1 and not isinstance(error, Unavailable):
                for one in batch:
                    await self._do([one])
                return
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), result in zip(batch, results, strict=True):
            if not waiting.done():
                waiting.set_result(result)
