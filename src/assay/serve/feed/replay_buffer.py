"""The newest events, kept for those who come back after their connection was lost."""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """What one change looks like on the wire: the same bytes for everybody whom one of its topics concerns."""

    serial: int
    topics: tuple[str, ...]
    data: bytes
    events: int


class Ring:
    """Entries in the order of their serials. All that is newer than `floor` is here, up to `newest`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: deque[Entry] = deque()
        self.floor = self.newest = 0

    def begin_after(self, serial: int) -> None:
        """Forget everything and go on from here."""
        self._entries.clear()
        self.floor = self.newest = serial

    def append(self, entry: Entry) -> None:
        """The next one; the oldest makes room for it."""
        if len(self._entries) == self._size:
            self.floor = self._entries.popleft().serial
        self._entries.append(entry)
        self.newest = entry.serial

    def pass_over(self, serial: int) -> None:
        """A change that concerns nobody who listens."""
        self.newest = serial

    def covers(self, serial: int) -> bool:
        """Whether nothing is missing between this serial and the newest."""
        return self.floor <= serial <= self.newest

    def after(self, serial: int, topic: str) -> list[Entry]:
        """What somebody who has seen this serial has missed, oldest first."""
        missed: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.serial <= serial:
                break
            if topic in entry.topics:
                missed.append(entry)
        missed.reverse()
        return missed
