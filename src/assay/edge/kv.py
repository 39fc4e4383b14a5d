"""What the copy needs of a key-value store: few operations, each of them whole or not at all."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.model.errors import Unavailable

PAGE = 1_000
# The code of the error that says that the store is away.
EDGE_AWAY = "edge_unavailable"


@dataclass(frozen=True, slots=True)
class Item:
    """A key with its value. No value: the store lists the key, but has lost what is under it."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Page:
    """Items in the order of their keys; the next page starts after the cursor, if there is one."""

    items: list[Item]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Range:
    """The keys from `start` on and before `stop`, in the order of their bytes."""

    start: str
    stop: str


class Edge(Protocol):
    """A store of the copy. Whatever keeps it from answering is Unavailable, `edge_unavailable`."""

    @property
    def identity(self) -> str:
        """The same for all who use this store, and for no other store; without passwords."""

    async def read_serial(self) -> int:
        """The serial of the change that the copy has last taken over; 0 for an empty store."""

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """What is under these keys."""

    async def write(self, puts: Mapping[str, bytes], strikes: Collection[str], *, since: int, serial: int) -> bool:
        """Put and remove all of this and set the serial, if it still is `since`; else change nothing: False.

        So whoever has been overtaken, or woken from the dead, cannot put older values over newer ones. A key that
        is both put and removed is put.
        """

    async def page(self, keys: Range, *, after: str | None = None, limit: int = PAGE) -> Page:
        """Items of a range, in order, after a cursor."""

    async def clear(self) -> None:
        """Forget everything, the serial too."""

    async def close(self) -> None:
        """Let go of it."""


def below(prefix: str) -> Range:
    """All keys that begin so."""
    return Range(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


async def walk(edge: Edge, keys: Range, *, limit: int = PAGE) -> AsyncIterator[Page]:
    """Page after page, to the end; what is put before the cursor meanwhile is not seen."""
    after: str | None = None
    while True:
        page = await edge.page(keys, after=after, limit=limit)
        yield page
        if page.next_cursor is None:
            return
        after = page.next_cursor


def edge_away(problem: Exception) -> Unavailable:
    """The one error of a store that does not answer."""
    cause = f"{type(problem).__name__}: {next(iter(str(problem).splitlines()), '')}"
    return Unavailable("The edge copy does not answer.", code=EDGE_AWAY, retry_after_seconds=5, cause=cause)
