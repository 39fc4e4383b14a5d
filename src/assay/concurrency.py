"""Waiting for events and for groups of awaitables."""

import asyncio
from collections.abc import Awaitable, Iterable


async def wait_or_stop(event: asyncio.Event, seconds: float) -> bool:
    """Wait until `event` is set, at most `seconds`; return whether it is set.

    Yields to the event loop unless the event is already set.
    """
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await event.wait()
    except TimeoutError:
        return False


async def settle(work: Iterable[Awaitable[None]]) -> None:
    """Wait for all awaitables, then raise the first error: no work is left running when this returns or raises."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
