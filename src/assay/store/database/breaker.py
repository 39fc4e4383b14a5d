"""Knows whether the database is away, so that nobody waits for it then; finds out in the background when it is back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from assay.model.errors import AssayError

log = structlog.get_logger()
PAUSE_SECONDS = 0.5
# Whoever was asking it when it was found to be away may yet be lucky for so long.
MERCY_SECONDS = 1.0
# While no statement fails, a busy machine may be why one question was not answered in time.
QUESTIONS = 2
Admission = Callable[[], Awaitable[None]]


class Breaker:
    """Closed while the database answers. A failure has it asked at once; it opens if there is no answer then."""

    def __init__(self, answers: Callable[[], Awaitable[bool]], watch_seconds: float | None = None) -> None:
        self._answers = answers
        self._admission: Admission | None = None
        self._probing: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch(watch_seconds)) if watch_seconds else None
        self._recovered: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Timeout] = set()
        self._questions = QUESTIONS
        self.is_open = False
        # Why it is open though the database answers.
        self.cause: str | None = None

    def suspect(self) -> None:
        """Something went wrong: find out whether the database is away."""
        self._questions = 1
        self._look()

    def _look(self) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())

    def close(self) -> None:
        """It answers. What has still to be admitted is so by the probe only."""
        if self.is_open and self._admission is None:
            self.is_open, self.cause = False, None
            log.info("The database answers again")
            for limit in self._waiting:
                if not limit.expired():
                    limit.reschedule(None)
            for tell in self._recovered:
                tell()

    def stay_open_until(self, admission: Admission) -> None:
        """Open from now on, until the database answers and this raises no error that it knows."""
        self._admission = admission
        self.is_open = True
        self.suspect()

    def on_recovery(self, tell: Callable[[], None]) -> None:
        """Call this whenever the database is back."""
        self._recovered.append(tell)

    @asynccontextmanager
    async def patience(self) -> AsyncIterator[None]:
        """Whoever waits for the database inside gets TimeoutError when it is found to be away.

        A server that hangs fails no statement, and its own limits on time hang with it.
        """
        async with asyncio.timeout(None) as limit:
            self._waiting.add(limit)
            try:
                yield
            finally:
                self._waiting.discard(limit)

    async def stop(self) -> None:
        """Ask no more."""
        tasks = [task for task in (self._probing, self._watching) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self) -> None:
        asked = 0
        while not (await self._answers() and await self._is_admitted()):
            asked += 1
            if not self.is_open and asked >= self._questions:
                self._open()
            await asyncio.sleep(PAUSE_SECONDS)
        self._questions = QUESTIONS
        self.close()

    def _open(self) -> None:
        self.is_open = True
        log.error("The database is away: reads are answered from the edge copy, writes are refused")
        over = asyncio.get_running_loop().time() + MERCY_SECONDS
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(over)

    async def _is_admitted(self) -> bool:
        if self._admission is None:
            return True
        try:
            await self._admission()
        except AssayError as problem:
            if self.cause != problem.message:
                log.error(problem.message, code=problem.code)
            self.cause = problem.message
            return False
        self._admission = None
        return True

    async def _watch(self, seconds: float) -> None:
        """A server that hangs fails no statement: only somebody who does not wait for long can tell."""
        while True:
            await asyncio.sleep(seconds)
            self._look()
