"""Do a thing once for all who want it at the same time, and remember it for those who come soon after."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """A bounded memory of results. Failures are not remembered, and one waiter's end does not end the others'."""

    def __init__(self, *, weigh: Callable[[T], int], at_most: int) -> None:
        self._weigh = weigh
        self._at_most = at_most
        self._flights: dict[Hashable, asyncio.Task[T]] = {}
        self._results: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._weight = 0

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[T]], *, fresh: Callable[[T], bool] | None = None
    ) -> T:
        """The remembered result if it is fresh enough, the one under way, or a new one."""
        known = self._results.get(key)
        if known is not None and (fresh is None or fresh(known[0])):
            self._results.move_to_end(key)
            return known[0]
        under_way = self._flights.get(key)
        if under_way is not None:
            result = await asyncio.shield(under_way)
            if fresh is None or fresh(result):
                return result
        return await asyncio.shield(self._flights.get(key) or self._start(key, make))

    def _start(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        flight = asyncio.ensure_future(self._fly(key, make))
        self._flights[key] = flight
        flight.add_done_callback(lambda done: self._landed(key, done))
        return flight

    async def _fly(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
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

    def _landed(self, key: Hashable, flight: asyncio.Task[T]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            # All waiters may be gone; a failure that nobody awaits is not worth a warning.
            flight.exception()
