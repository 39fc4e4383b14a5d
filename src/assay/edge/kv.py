"""The operations that the edge copy needs of a key-value store; each is atomic."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.model.errors import Unavailable

PAGE = 1_000
# Code of the error raised while the store is down.
EDGE_UNAVAILABLE = "edge_unavailable"


@dataclass(frozen=True, slots=True)
class Item:
    """A key with its value; None if the store lists the key but has lost the value."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Items ordered by key; `next_cursor` is None on the last page."""

    items: list[Item]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `start` (inclusive) to `stop` (exclusive), in byte order."""

    start: str
    stop: str


class Edge(Protocol):
    """A key-value store for the copy. Methods raise Unavailable (`edge_unavailable`) if it does not answer."""

    @property
    def identity(self) -> str:
        """Identifies the store across processes and machines; contains no password."""

    async def read_serial(self) -> int:
        """Return the serial of the last change applied to the copy; 0 for an empty store."""

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of these keys, None where there is none."""

    async def write(self, puts: Mapping[str, bytes], deletes: Collection[str], *, since: int, serial: int) -> bool:
        """Put and delete all keys and set the serial, if it still equals `since`; otherwise return False.

        The condition keeps a stale writer from replacing newer values. A key that is both put and deleted is put.
        """

    async def page(self, keys: KeyRange, *, after: str | None = None, limit: int = PAGE) -> KeyPage:
        """Return up to `limit` items after the cursor `after`."""

    async def clear(self) -> None:
        """Delete all keys, including the serial."""

    async def close(self) -> None:
        """Release the connection or file."""


def prefix_range(prefix: str) -> KeyRange:
    """Return the range of all keys with a prefix."""
    return KeyRange(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


async def iterate_pages(edge: Edge, keys: KeyRange, *, limit: int = PAGE) -> AsyncIterator[KeyPage]:
    """Yield all pages of a range; keys put before the cursor meanwhile are not seen."""
    after: str | None = None
    while True:
        page = await edge.page(keys, after=after, limit=limit)
        yield page
        if page.next_cursor is None:
            return
        after = page.next_cursor


def edge_unavailable(error: Exception) -> Unavailable:
    """Return the error that stands for every failure of a store."""
    cause = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
    return Unavailable("The edge copy does not answer.", code=EDGE_UNAVAILABLE, retry_after_seconds=5, cause=cause)
