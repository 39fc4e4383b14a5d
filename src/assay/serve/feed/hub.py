"""Live events of the queue and the catalogue, for everybody who listens to this process.

The change feed is the truth: each change is read once, in the order of its serial, encoded once and told to all whom
it concerns. Notices of the database say when to look. A timer looks anyway, because notices get lost, and because a
transaction that is still open holds changes back. Nothing runs while nobody listens.
"""

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from assay.model.errors import Unavailable
from assay.serve.feed.live_events import Happenings, understand
from assay.serve.feed.replay_buffer import Entry
from assay.serve.feed.subscriber import Listener
from assay.serve.feed.subscribers import Audience, AudienceOptions
from assay.store.database.database import Database
from assay.store.feed.changes import QueueChange, newest_serial, number_settled, read_queue_changes
from assay.store.feed.notifications import CHANGE, hear_notices

log = structlog.get_logger()
Encode = Callable[[int, Happenings], bytes]
TICK_SECONDS, SHORTEST_PAUSE_SECONDS, BREATH_SECONDS = 1.0, 0.01, 0.003
PASS_SECONDS = 30
PAGE, SLICE = 1_000, 64


class Hub:
    """Reads what happens, and tells everybody who wants to know."""

    def __init__(
        self,
        store: Database,
        url: str,
        encode: Encode,
        options: AudienceOptions | None = None,
        tick_seconds: float = TICK_SECONDS,
    ) -> None:
        self._store, self._url, self._encode = store, url, encode
        self.audience = Audience(options or AudienceOptions())
        self._tick_seconds = tick_seconds
        self._reading = asyncio.Lock()
        self._woken = asyncio.Event()
        self._must_number = True
        self._running: asyncio.Task[None] | None = None
        self._is_closed = False

    async def listen(self, topic: str, after: int | None) -> Listener:
        """A listener that hears everything of its topic after this serial, or from now on; `leave` when it is done.

        Raises Unavailable if there are too many, or if the database is away when it has to be asked.
        """
        if self._has_to_read(after):
            async with self._reading:
                if self._has_to_read(after):  # somebody else may have done so meanwhile
                    await self._read_up()
        if self._is_closed:
            raise Unavailable("This process is stopping.", code="stopping", retry_after_seconds=1)
        if self.audience.is_full:
            raise Unavailable("Too many listen to this process.", code="too_many_listeners", retry_after_seconds=5)
        listener = self.audience.admit(topic, after)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
            self._running.add_done_callback(self._on_end)
        return listener

    @property
    def newest(self) -> int:
        """The serial up to which everybody has been told."""
        return self.audience.ring.newest

    def drop(self, listener: Listener) -> None:
        """Cut off a listener that does not keep up."""
        self.audience.drop(listener)
        self.leave(listener)

    def leave(self, listener: Listener) -> None:
        """The listener has gone."""
        self.audience.dismiss(listener)
        if not self.audience and self._running is not None:
            self._running.cancel()
            self._running = None

    async def close(self) -> None:
        """End all streams at once and admit nobody any more."""
        self._is_closed = True
        self.audience.end()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    def _has_to_read(self, after: int | None) -> bool:
        """Nobody has read for a while, or another process has told this client what we have not read yet."""
        return self._running is None or (after is not None and after > self.newest)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(hear_notices(self._url, self._look, self._on_notice))
            group.create_task(self._follow())

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours leaves no listeners behind to whom nobody speaks: they come back to a new start."""
        if task.cancelled() or (problem := task.exception()) is None:
            return
        log.error("A bug stopped the live events", exc_info=problem)
        if task is self._running:
            self._running = None
            self.audience.end()

    def _look(self) -> None:
        self._must_number = True
        self._woken.set()

    def _on_notice(self, channel: str, payload: str) -> None:
        if channel == CHANGE:
            self._look()
        elif int(payload) > self.newest:
            self._woken.set()

    async def _follow(self) -> None:
        """Look when there is a notice and at every tick; sooner again while something is held back."""
        pause, is_away = SHORTEST_PAUSE_SECONDS, False
        while True:
            try:
                async with asyncio.timeout(PASS_SECONDS), self._reading:
                    is_waiting = await self._read_up()
                is_away = False
            except (Unavailable, TimeoutError) as problem:
                if not is_away:
                    log.warning("Live events wait for the database", problem=str(problem))
                is_waiting, is_away = False, True
            pause = min(pause * 2, TICK_SECONDS) if is_waiting else SHORTEST_PAUSE_SECONDS
            # Whoever writes a lot gives many notices: this bounds how often we look.
            await asyncio.sleep(BREATH_SECONDS)
            await self._wait(pause if is_waiting else self._tick_seconds)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            self._must_number = True

    async def _read_up(self) -> bool:
        """Tell everything that has a serial by now; whether something committed is still held back."""
        self._woken.clear()
        is_waiting = await self._number()
        if not self.audience:
            await self._skip_what_is_not_kept()
        while True:
            async with self._store.begin() as db:
                changes = await read_queue_changes(db, self.newest, PAGE)
            for start in range(0, len(changes), SLICE):
                for change in changes[start : start + SLICE]:
                    self._tell(change)
                await asyncio.sleep(0)  # so that a burst fills no queue before its listener has had a chance
            if len(changes) < PAGE:
                return is_waiting

    async def _number(self) -> bool:
        """Hand out serials if that is due; whether it has to be tried again soon."""
        if not self._must_number:
            return False
        self._must_number = False  # before we look, so that a notice that comes meanwhile counts
        async with self._store.begin() as db:
            is_waiting = (await number_settled(db)).is_waiting
        self._must_number |= is_waiting
        return is_waiting

    async def _skip_what_is_not_kept(self) -> None:
        """Without listeners there is nobody to tell what would fall out of the ring at once."""
        ring = self.audience.ring
        async with self._store.begin() as db:
            newest = await newest_serial(db)
        oldest = max(0, newest - self.audience.options.kept)
        if not oldest <= ring.newest <= newest:
            ring.begin_after(oldest)

    def _tell(self, change: QueueChange) -> None:
        try:
            happenings = understand(change)
        except msgspec.ValidationError as problem:
            log.error("A change was not understood", serial=change.serial, problem=str(problem))
            self.audience.ring.pass_over(change.serial)
            return
        data = self._encode(change.serial, happenings)
        self.audience.tell(Entry(change.serial, happenings.topics, data, len(happenings.all)))
