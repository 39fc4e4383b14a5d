"""The subscribers of this process: clients connected to a live event stream, each with a bounded queue.

Nothing in `Subscribers` awaits, so no event can slip between the replay buffer and the queues.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from assay.serve.feed.replay_buffer import EncodedEvents, ReplayBuffer

CHUNK_BYTES = 16 * 1024


@dataclass(frozen=True)
class SubscriberLimits:
    """The maximum number of queued entries, and the time limit of one write to the client."""

    entries: int = 256
    seconds: float = 10


@dataclass(frozen=True)
class SubscriberOptions:
    """The maximum number of subscribers, the limits of each, and the number of entries kept for replay."""

    max_subscribers: int = 5_000
    limits: SubscriberLimits = field(default_factory=SubscriberLimits)
    replay_size: int = 5_000


@dataclass
class SubscriberStats:
    """Counters over all subscribers of this process."""

    events_sent: int = 0
    subscribers_dropped: int = 0


class Subscriber:
    """A client of one topic. Publishing never waits for it: if its queue is full, it is dropped and must reconnect.

    `has_gap` means that events since its last one are no longer available, and that it starts from now.
    """

    def __init__(
        self, topic: str, start: int, missed: Sequence[EncodedEvents], limits: SubscriberLimits, stats: SubscriberStats
    ) -> None:
        self.topic, self.start = topic, start
        self.is_ended = self.has_gap = False
        self._queue = deque(missed)
        self._max_queued = len(missed) + limits.entries
        self._send_seconds, self._stats = limits.seconds, stats
        self._woken = asyncio.Event()
        self._sending: asyncio.Timeout | None = None

    def offer(self, entry: EncodedEvents) -> bool:
        """Queue an entry; returns False if the queue is full."""
        if len(self._queue) >= self._max_queued:
            return False
        self._queue.append(entry)
        self._woken.set()
        return True

    async def wait(self) -> None:
        """Wait until there is something to take or the stream has ended."""
        while not (self._queue or self.is_ended):
            self._woken.clear()
            await self._woken.wait()

    def take(self) -> bytes:
        """Return queued entries up to about CHUNK_BYTES, never part of one; empty at the end of the stream."""
        taken, size = [], 0
        while self._queue and size < CHUNK_BYTES:
            entry = self._queue.popleft()
            taken.append(entry.data)
            size += len(entry.data)
            self._stats.events_sent += entry.events
        return b"".join(taken)

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Limit the time of a write; raises TimeoutError when it is up or when `end` is called."""
        try:
            async with asyncio.timeout(self._send_seconds) as self._sending:
                yield
        finally:
            self._sending = None

    def end(self) -> None:
        """End the stream, also during a blocked write."""
        self.is_ended = True
        self._queue.clear()
        self._woken.set()
        if self._sending is not None and not self._sending.expired():
            self._sending.reschedule(0)


class Subscribers:
    """The subscribers by topic, and the replay buffer for those that reconnect."""

    def __init__(self, options: SubscriberOptions) -> None:
        self.options, self.stats = options, SubscriberStats()
        self.replay_buffer = ReplayBuffer(options.replay_size)
        self._subscribers: set[Subscriber] = set()
        self._by_topic: dict[str, set[Subscriber]] = {}

    def __len__(self) -> int:
        return len(self._subscribers)

    @property
    def is_full(self) -> bool:
        return len(self._subscribers) >= self.options.max_subscribers

    def add(self, topic: str, after: int | None) -> Subscriber:
        """Add a subscriber with everything since serial `after` queued; without gap if the replay buffer has it all."""
        buffer = self.replay_buffer
        has_gap = after is not None and not buffer.covers(after)
        start = buffer.newest if after is None or has_gap else after
        subscriber = Subscriber(topic, start, buffer.after(start, topic), self.options.limits, self.stats)
        subscriber.has_gap = has_gap
        self._subscribers.add(subscriber)
        self._by_topic.setdefault(topic, set()).add(subscriber)
        return subscriber

    def remove(self, subscriber: Subscriber) -> bool:
        """Remove a subscriber; returns False if it was not there."""
        if subscriber not in self._subscribers:
            return False
        self._subscribers.discard(subscriber)
        peers = self._by_topic[subscriber.topic]
        peers.discard(subscriber)
        if not peers:
            del self._by_topic[subscriber.topic]
        return True

    def drop(self, subscriber: Subscriber) -> None:
        """Disconnect a subscriber that is too slow."""
        if self.remove(subscriber):
            self.stats.subscribers_dropped += 1
        subscriber.end()

    def publish(self, entry: EncodedEvents) -> None:
        """Add an entry to the replay buffer and to the queues of its topics; drops subscribers whose queue is full."""
        self.replay_buffer.append(entry)
        slow = [
            subscriber
            for topic in entry.topics
            for subscriber in self._by_topic.get(topic, ())
            if not subscriber.offer(entry)
        ]
        for subscriber in slow:
            self.drop(subscriber)

    def end(self) -> None:
        """End all streams."""
        for subscriber in self._subscribers:
            subscriber.end()
        self._subscribers.clear()
        self._by_topic.clear()
