"""Somebody who listens: what waits for them, and when they have waited for too much or too long."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from assay.serve.feed.replay_buffer import Entry

CHUNK_BYTES = 16 * 1024


@dataclass(frozen=True)
class Patience:
    """How many entries may wait for a listener, and how long one write to it may take."""

    entries: int = 256
    seconds: float = 10


@dataclass
class Tally:
    """What has become of all listeners of this process."""

    events_sent: int = 0
    listeners_dropped: int = 0


class Listener:
    """One reader of one topic. Nobody ever waits for it: it keeps up, or it is cut off and comes back."""

    def __init__(self, topic: str, start: int, missed: Sequence[Entry], patience: Patience, tally: Tally) -> None:
        self.topic, self.start = topic, start
        self.is_ended = self.lost_track = False
        self._waiting = deque(missed)
        self._most_waiting = len(missed) + patience.entries
        self._send_seconds, self._tally = patience.seconds, tally
        self._woken = asyncio.Event()
        self._sending: asyncio.Timeout | None = None

    def offer(self, entry: Entry) -> bool:
        """Put it in the queue; False if the queue is full."""
        if len(self._waiting) >= self._most_waiting:
            return False
        self._waiting.append(entry)
        self._woken.set()
        return True

    async def wait(self) -> None:
        """Until there is something to take, or the stream is at its end."""
        while not (self._waiting or self.is_ended):
            self._woken.clear()
            await self._woken.wait()

    def take(self) -> bytes:
        """What waits, as much as makes a chunk; an entry is never split. Empty at the end of the stream."""
        taken, size = [], 0
        while self._waiting and size < CHUNK_BYTES:
            entry = self._waiting.popleft()
            taken.append(entry.data)
            size += len(entry.data)
            self._tally.events_sent += entry.events
        return b"".join(taken)

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Around each write; TimeoutError if the other side does not take it, or if `end` is called meanwhile."""
        try:
            async with asyncio.timeout(self._send_seconds) as self._sending:
                yield
        finally:
            self._sending = None

    def end(self) -> None:
        """No more of this stream, also in the middle of a write that is stuck."""
        self.is_ended = True
        self._waiting.clear()
        self._woken.set()
        if self._sending is not None and not self._sending.expired():
            self._sending.reschedule(0)
