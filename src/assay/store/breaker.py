"""Knows whether the database is away, so that nobody waits for it then; finds out in the background when it is back."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()
PAUSE_SECONDS = 0.5


class Breaker:
    """Closed while the database answers. A failure has it asked at once; it opens if there is no answer then."""

    def __init__(self, answers: Callable[[], Awaitable[bool]], watch_seconds: float | None = None) -> None:
        self._answers = answers
        self._probing: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch(watch_seconds)) if watch_seconds else None
        self._recovered: list[Callable[[], None]] = []
        self.is_open = False

    def suspect(self) -> None:
        """Something went wrong: find out whether the database is away."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())

    def close(self) -> None:
        """It answers."""
        if self.is_open:
            self.is_open = False
            log.info("The database answers again")
            for tell in self._recovered:
                tell()

    def on_recovery(self, tell: Callable[[], None]) -> None:
        """Call this whenever the database is back."""
        self._recovered.append(tell)

    async def stop(self) -> None:
        """Ask no more."""
        tasks = [task for task in (self._probing, self._watching) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self) -> None:
        while not await self._answers():
            if not self.is_open:
                self.is_open = True
                log.error("The database is away: reads are answered from the edge copy, writes are refused")
            await asyncio.sleep(PAUSE_SECONDS)
        self.close()

    async def _watch(self, seconds: float) -> None:
        """A server that hangs fails no statement: only somebody who does not wait for long can tell."""
        while True:
            await asyncio.sleep(seconds)
            if not self.is_open and not await self._answers():
                self.suspect()
