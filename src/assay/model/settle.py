"""Fan out and settle: all finish, then the first failure speaks for the rest."""

import asyncio
from collections.abc import Awaitable, Iterable


async def settle(work: Iterable[Awaitable[None]]) -> None:
    """Wait for all; raise the first error only after nothing is left running."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
