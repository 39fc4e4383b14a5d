"""The hub: live events of the queue and the catalogue, for all subscribers of this process.

The change feed is the source: each change is read once, in order of its serial, encoded once and published to the
subscribers of its topics. Database notifications trigger a read. A timer triggers one too, because notifications can be
lost and an open transaction holds back later serials. Nothing runs without subscribers.
"""

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from assay.concurrency import wait_or_stop
from assay.model.errors import Unavailable
from assay.serve.feed.live_events import LiveEvents, to_live_events
from assay.serve.feed.replay_buffer import EncodedEvents
from assay.serve.feed.subscribers import Subscriber, SubscriberOptions, Subscribers
from assay.store.database.database import Database
from assay.store.feed.changes import QueueChange, newest_serial, number_settled, read_queue_changes
from assay.store.feed.notifications import CHANGE, listen_for_notifications

log = structlog.get_logger()
Encode = Callable[[int, LiveEvents], bytes]
TICK_SECONDS, MIN_PAUSE_SECONDS, MIN_READ_INTERVAL_SECONDS = 1.0, 0.01, 0.003
PASS_SECONDS = 30
PAGE, SLICE = 1_000, 64


class Hub:
    """Follows the change feed and publishes its live events."""

    def __init__(
        self,
        store: Database,
        url: str,
        encode: Encode,
        options: SubscriberOptions | None = None,
        tick_seconds: float = TICK_SECONDS,
    ) -> None:
        self._store, self._url, self._encode = store, url, encode
        self.subscribers = Subscribers(options or SubscriberOptions())
        self._tick_seconds = tick_seconds
        self._reading = asyncio.Lock()
        self._woken = asyncio.Event()
        self._must_assign_serials = True
        self._running: asyncio.Task[None] | None = None
        self._is_closed = False

    async def subscribe(self, topic: str, after: int | None) -> Subscriber:
        """Add a subscriber to a topic, from serial `after` or from now; call `unsubscribe` when done.

        Raises Unavailable if there are too many subscribers, or if the feed must be read and the database is down.
        """
        if self._must_read(after):
            async with self._reading:
                if self._must_read(after):  # another task may have read meanwhile
                    await self._catch_up()
        if self._is_closed:
            raise Unavailable("This process is shutting down.", code="stopping", retry_after_seconds=1)
        if self.subscribers.is_full:
            raise Unavailable(
                "This process has too many live event subscribers.", code="too_many_listeners", retry_after_seconds=5
            )
        subscriber = self.subscribers.add(topic, after)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
            self._running.add_done_callback(self._on_end)
        return subscriber

    @property
    def newest(self) -> int:
        """The serial of the last published change."""
        return self.subscribers.replay_buffer.newest

    def drop(self, subscriber: Subscriber) -> None:
        """Disconnect a subscriber that is too slow."""
        self.subscribers.drop(subscriber)
        self.unsubscribe(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self.subscribers.remove(subscriber)
        if not self.subscribers and self._running is not None:
            self._running.cancel()
            self._running = None

    async def close(self) -> None:
        """End all streams and refuse new subscribers."""
        self._is_closed = True
        self.subscribers.end()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    def _must_read(self, after: int | None) -> bool:
        """Return whether the feed was not being followed, or the client has events of a process ahead of this one."""
        return self._running is None or (after is not None and after > self.newest)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(listen_for_notifications(self._url, self._wake, self._on_notice))
            group.create_task(self._follow())

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """After an unexpected error, end all streams so that clients reconnect and restart the hub."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("Live event hub crashed", exc_info=error)
        if task is self._running:
            self._running = None
            self.subscribers.end()

    def _wake(self) -> None:
        self._must_assign_serials = True
        self._woken.set()

    def _on_notice(self, channel: str, payload: str) -> None:
        if channel == CHANGE:
            self._wake()
        elif int(payload) > self.newest:
            self._woken.set()

    async def _follow(self) -> None:
        """Read after a notification and at every tick; sooner while an open transaction holds back changes."""
        pause, in_outage = MIN_PAUSE_SECONDS, False
        while True:
            try:
                async with asyncio.timeout(PASS_SECONDS), self._reading:
                    is_held_back = await self._catch_up()
                in_outage = False
            except (Unavailable, TimeoutError) as error:
                if not in_outage:
                    log.warning("Live events suspended: database is down", error=str(error))
                is_held_back, in_outage = False, True
            pause = min(pause * 2, TICK_SECONDS) if is_held_back else MIN_PAUSE_SECONDS
            # Bounds the rate of reads while there are many notifications.
            await asyncio.sleep(MIN_READ_INTERVAL_SECONDS)
            await self._wait(pause if is_held_back else self._tick_seconds)

    async def _wait(self, seconds: float) -> None:
        if not await wait_or_stop(self._woken, seconds):
            self._must_assign_serials = True

    async def _catch_up(self) -> bool:
        """Publish all changes that have a serial; returns whether committed changes are still held back."""
        self._woken.clear()
        is_held_back = await self._assign_serials()
        if not self.subscribers:
            await self._skip_old_changes()
        while True:
            async with self._store.begin() as db:
                changes = await read_queue_changes(db, self.newest, PAGE)
            for start in range(0, len(changes), SLICE):
                for change in changes[start : start + SLICE]:
                    self._publish(change)
                await asyncio.sleep(0)  # lets subscribers drain their queues during a burst
            if len(changes) < PAGE:
                return is_held_back

    async def _assign_serials(self) -> bool:
        """Assign serials if due; returns whether to try again soon."""
        if not self._must_assign_serials:
            return False
        self._must_assign_serials = False  # before reading, so that a notification in between is not lost
        async with self._store.begin() as db:
            is_held_back = (await number_settled(db)).is_waiting
        self._must_assign_serials |= is_held_back
        return is_held_back

    async def _skip_old_changes(self) -> None:
        """Without subscribers, skip changes that would not fit into the replay buffer."""
        buffer = self.subscribers.replay_buffer
        async with self._store.begin() as db:
            newest = await newest_serial(db)
        oldest = max(0, newest - self.subscribers.options.replay_size)
        if not oldest <= buffer.newest <= newest:
            buffer.reset(oldest)

    def _publish(self, change: QueueChange) -> None:
        try:
            events = to_live_events(change)
        except msgspec.ValidationError as error:
            log.error("Skipped malformed change", serial=change.serial, error=str(error))
            self.subscribers.replay_buffer.skip_to(change.serial)
            return
        data = self._encode(change.serial, events)
        self.subscribers.publish(EncodedEvents(change.serial, events.topics, data, len(events.events)))
