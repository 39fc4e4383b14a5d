"""The newest encoded events, for subscribers that reconnect."""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EncodedEvents:
    """The events of one change as sent: the same bytes for every subscriber of one of the topics."""

    serial: int
    topics: tuple[str, ...]
    data: bytes
    events: int


class ReplayBuffer:
    """A ring buffer ordered by serial; complete for serials above `floor` and up to `newest`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: deque[EncodedEvents] = deque()
        self.floor = self.newest = 0

    def reset(self, serial: int) -> None:
        """Clear the buffer and continue after this serial."""
        self._entries.clear()
        self.floor = self.newest = serial

    def append(self, entry: EncodedEvents) -> None:
        """Append an entry, evicting the oldest if full."""
        if len(self._entries) == self._size:
            self.floor = self._entries.popleft().serial
        self._entries.append(entry)
        self.newest = entry.serial

    def skip_to(self, serial: int) -> None:
        """Advance past a change without events."""
        self.newest = serial

    def covers(self, serial: int) -> bool:
        """Return whether all events after this serial are available."""
        return self.floor <= serial <= self.newest

    def after(self, serial: int, topic: str) -> list[EncodedEvents]:
        """Return the entries of a topic after a serial, oldest first."""
        missed: list[EncodedEvents] = []
        for entry in reversed(self._entries):
            if entry.serial <= serial:
                break
            if topic in entry.topics:
                missed.append(entry)
        missed.reverse()
        return missed
