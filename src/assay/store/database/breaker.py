"""The circuit breaker of the database: fails transactions fast during an outage and probes in the background."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from assay.model.errors import AssayError

log = structlog.get_logger()
PAUSE_SECONDS = 0.5
# Transactions that are open when the breaker opens may still finish within this time.
GRACE_SECONDS = 1.0
# A probe can also time out on a busy machine, so without a failed statement one failed probe is not enough.
PROBES_BEFORE_OPENING = 2
Admission = Callable[[], Awaitable[None]]


class DatabaseBreaker:
    """Closed while the database answers. A failed statement triggers a probe; a failed probe opens the breaker."""

    def __init__(self, is_reachable: Callable[[], Awaitable[bool]], watch_seconds: float | None = None) -> None:
        self._is_reachable = is_reachable
        self._admission: Admission | None = None
        self._probing: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch(watch_seconds)) if watch_seconds else None
        self._recovered: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Timeout] = set()
        self._allowed_failures = PROBES_BEFORE_OPENING
        self.is_open = False
        # Why the breaker is open although the database answers.
        self.cause: str | None = None

    def report_failure(self) -> None:
        """Probe at once, and open the breaker at the first failed probe."""
        self._allowed_failures = 1
        self._start_probe()

    def _start_probe(self) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())

    def close(self) -> None:
        """Close the breaker, unless an admission check is pending: then only a probe closes it."""
        if self.is_open and self._admission is None:
            self.is_open, self.cause = False, None
            log.info("Database is reachable again")
            for limit in self._waiting:
                if not limit.expired():
                    limit.reschedule(None)
            for callback in self._recovered:
                callback()

    def stay_open_until(self, admission: Admission) -> None:
        """Open the breaker until the database answers and `admission` no longer raises an AssayError."""
        self._admission = admission
        self.is_open = True
        self.report_failure()

    def on_recovery(self, callback: Callable[[], None]) -> None:
        """Register a callback that runs each time the breaker closes."""
        self._recovered.append(callback)

    @asynccontextmanager
    async def raise_on_outage(self) -> AsyncIterator[None]:
        """Raise TimeoutError inside the block once the breaker has opened.

        Needed because a hanging server fails no statement, and its own statement timeout hangs as well.
        """
        async with asyncio.timeout(None) as limit:
            self._waiting.add(limit)
            try:
                yield
            finally:
                self._waiting.discard(limit)

    async def stop(self) -> None:
        tasks = [task for task in (self._probing, self._watching) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self) -> None:
        failed_probes = 0
        while not (await self._is_reachable() and await self._is_admitted()):
            failed_probes += 1
            if not self.is_open and failed_probes >= self._allowed_failures:
                self._open()
            await asyncio.sleep(PAUSE_SECONDS)
        self._allowed_failures = PROBES_BEFORE_OPENING
        self.close()

    def _open(self) -> None:
        self.is_open = True
        log.error("Database is down: reads are served from the edge copy, writes are refused")
        deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(deadline)

    async def _is_admitted(self) -> bool:
        if self._admission is None:
            return True
        try:
            await self._admission()
        except AssayError as error:
            if self.cause != error.message:
                log.error(error.message, code=error.code)
            self.cause = error.message
            return False
        self._admission = None
        return True

    async def _watch(self, seconds: float) -> None:
        """Probe periodically: a hanging server fails no statement, so only a probe with a short timeout notices it."""
        while True:
            await asyncio.sleep(seconds)
            self._start_probe()
