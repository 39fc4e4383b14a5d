"""The copy in a folder of this machine: LMDB, which any number of processes read while one writes."""

import asyncio
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

import lmdb

from assay.edge.kv import PAGE, Item, Page, Range, edge_away

# Addresses, not memory or disk: the file grows with what is in it.
MAP_BYTES = 1 << 36
SERIAL = b"\x00serial"
Result = TypeVar("Result")


class _Environment:
    """An open LMDB environment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # After a power cut the last write may be missing, never half of one; it is derived again.
        self.lmdb = lmdb.open(str(folder), map_size=MAP_BYTES, max_readers=1024, metasync=False)


# LMDB allows an environment to be open once a process, so all who want it share it.
_OPEN: WeakValueDictionary[Path, _Environment] = WeakValueDictionary()
_OPENING = Lock()


class LmdbEdge:
    """One folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._environment: _Environment | None = None

    @property
    def identity(self) -> str:
        """Each machine has its own copy."""
        return f"lmdb:{socket.gethostname()}:{self._folder}"

    async def read_serial(self) -> int:
        """See Edge."""
        return await self._run(lambda: self._read(_serial))

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """See Edge."""
        return await self._run(lambda: self._read(lambda at: [_bytes(at.get(key.encode())) for key in keys]))

    async def write(self, puts: Mapping[str, bytes], strikes: Collection[str], *, since: int, serial: int) -> bool:
        """See Edge."""

        def change() -> bool:
            with self._begin(write=True) as at:
                if _serial(at) != since:
                    return False
                for key in strikes:
                    at.delete(key.encode())
                for key, value in sorted(puts.items()):
                    at.put(key.encode(), value)
                at.put(SERIAL, str(serial).encode())
            return True

        return await self._run(change)

    async def page(self, keys: Range, *, after: str | None = None, limit: int = PAGE) -> Page:
        """See Edge."""
        return await self._run(lambda: self._read(lambda at: _page(at, keys, after, limit)))

    async def clear(self) -> None:
        """See Edge."""

        def empty() -> None:
            with self._begin(write=True) as at:
                at.drop(self._open().lmdb.open_db(txn=at), delete=False)

        await self._run(empty)

    async def close(self) -> None:
        """See Edge. The last who lets go of it closes the environment."""
        self._environment = None

    def _open(self) -> _Environment:
        if self._environment is None:
            # Two threads that open it at once would be two environments, so the second waits.
            with _OPENING:
                self._environment = _OPEN.get(self._folder) or _OPEN.setdefault(
                    self._folder, _Environment(self._folder)
                )
        return self._environment

    @contextmanager
    def _begin(self, *, write: bool) -> Iterator[lmdb.Transaction]:
        with self._open().lmdb.begin(write=write) as transaction:
            yield transaction

    def _read(self, ask: Callable[[lmdb.Transaction], Result]) -> Result:
        with self._begin(write=False) as at:
            return ask(at)

    async def _run(self, work: Callable[[], Result]) -> Result:
        """In a thread, because the disk may be slow."""
        try:
            return await asyncio.to_thread(work)
        except (lmdb.Error, OSError) as problem:
            raise edge_away(problem) from problem


def _serial(at: lmdb.Transaction) -> int:
    return int(_bytes(at.get(SERIAL)) or 0)


def _bytes(value: "bytes | memoryview[int] | None") -> bytes | None:
    return None if value is None else bytes(value)


def _page(at: lmdb.Transaction, keys: Range, after: str | None, limit: int) -> Page:
    items: list[Item] = []
    stop = keys.stop.encode()
    with at.cursor() as cursor:
        found = cursor.set_range((after or keys.start).encode())
        if found and after is not None and cursor.key() == after.encode():
            found = cursor.next()
        while found and (key := bytes(cursor.key())) < stop:
            if len(items) == limit:
                return Page(items, items[-1].key)
            items.append(Item(key.decode(), bytes(cursor.value())))
            found = cursor.next()
    return Page(items, None)
