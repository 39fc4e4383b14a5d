"""Do together what comes in together: while one batch is under way, the next one gathers.

Nobody waits for a timer: alone, an item is a batch of one; under load, batches grow by themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from assay.model.errors import Unavailable

T = TypeVar("T")
R = TypeVar("R")


class Batches(Generic[T, R]):
    """Turns single requests into batches. An item that makes its batch fail is tried alone, as are the others."""

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, at_most: int) -> None:
        self._work = work
        self._at_most = at_most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def do(self, item: T) -> R:
        """The result of this item, as soon as the batch that it went into is done."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run())
        return await result

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._at_most], self._waiting[self._at_most :]
            wanted = [(item, result) for item, result in batch if not result.cancelled()]
            if wanted:
                await self._do(wanted)

    async def _do(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self._work([item for item, _ in batch])
        except Exception as problem:  # noqa: BLE001 - handed to whoever waits for the item
            if len(batch) > 1 and not isinstance(problem, Unavailable):
                for one in batch:
                    await self._do([one])
                return
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(problem)
            return
        for (_, waiting), result in zip(batch, results, strict=True):
            if not waiting.done():
                waiting.set_result(result)
