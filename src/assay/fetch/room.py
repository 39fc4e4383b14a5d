"""Room for bytes in memory: who wants more than is free waits in line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Room:
    """A bounded number of bytes that many tasks share. First come, first served, so large ones get their turn."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.free_bytes = size_bytes
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, wanted_bytes: int) -> AsyncIterator[None]:
        """Hold so many bytes inside the block; never more than there is room for in all."""
        wanted_bytes = min(wanted_bytes, self.size_bytes)
        async with self._turn:
            while self.free_bytes < wanted_bytes:
                self._changed.clear()
                await self._changed.wait()
            self.free_bytes -= wanted_bytes
        try:
            yield
        finally:
            self.free_bytes += wanted_bytes
            self._changed.set()
