"""One execution shared by all concurrent requests for the same key, with a bounded cache of results."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """A cache of results. Failures are not cached, and cancelling one waiter does not cancel the others."""

    def __init__(self, *, weigh: Callable[[T], int], at_most: int) -> None:
        self._weigh = weigh
        self._at_most = at_most
        self._flights: dict[Hashable, asyncio.Task[T]] = {}
        self._results: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._weight = 0

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[T]], *, fresh: Callable[[T], bool] | None = None
    ) -> T:
        """Return the cached result if it is fresh enough, or await the running execution, or start one."""
        known = self._results.get(key)
        if known is not None and (fresh is None or fresh(known[0])):
            self._results.move_to_end(key)
            return known[0]
        running = self._flights.get(key)
        if running is not None:
            result = await asyncio.shield(running)
            if fresh is None or fresh(result):
                return result
        return await asyncio.shield(self._flights.get(key) or self._start(key, make))

    def _start(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        flight = asyncio.ensure_future(self._run(key, make))
        self._flights[key] = flight
        flight.add_done_callback(lambda done: self._finished(key, done))
        return flight

    async def _run(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        result = await make()
        self._forget(key)
        weight = self._weigh(result)
        self._results[key] = result, weight
        self._weight += weight
        while len(self._results) > 1 and self._weight > self._at_most:
            self._forget(next(iter(self._results)))
        return result

    def _forget(self, key: Hashable) -> None:
        _, weight = self._results.pop(key, (None, 0))
        self._weight -= weight

    def _finished(self, key: Hashable, flight: asyncio.Task[T]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            # Retrieve the exception: if all waiters were cancelled, asyncio would log a warning.
            flight.exception()
