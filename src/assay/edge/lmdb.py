"""The edge copy in a local folder, as an LMDB database: one writer and many readers, across processes."""

import asyncio
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

import lmdb

from assay.edge.kv import PAGE, Item, KeyPage, KeyRange, edge_unavailable

# Reserved address space, not memory or disk; the file grows with its content.
MAP_BYTES = 1 << 36
SERIAL = b"\x00serial"
Result = TypeVar("Result")


class _Environment:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # A power cut may lose the last write but never half of one; the projector repeats it.
        self.lmdb = lmdb.open(str(folder), map_size=MAP_BYTES, max_readers=1024, metasync=False)


# LMDB allows a process to open an environment only once, so it is shared.
_OPEN: WeakValueDictionary[Path, _Environment] = WeakValueDictionary()
_OPENING = Lock()


class LmdbEdge:
    """A copy in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._environment: _Environment | None = None

    @property
    def identity(self) -> str:
        """Includes the host name: each machine has its own copy."""
        return f"lmdb:{socket.gethostname()}:{self._folder}"

    async def read_serial(self) -> int:
        return await self._run(lambda: self._read(_serial))

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        return await self._run(lambda: self._read(lambda txn: [_bytes(txn.get(key.encode())) for key in keys]))

    async def write(self, puts: Mapping[str, bytes], deletes: Collection[str], *, since: int, serial: int) -> bool:
        def change() -> bool:
            with self._begin(write=True) as txn:
                if _serial(txn) != since:
                    return False
                for key in deletes:
                    txn.delete(key.encode())
                for key, value in sorted(puts.items()):
                    txn.put(key.encode(), value)
                txn.put(SERIAL, str(serial).encode())
            return True

        return await self._run(change)

    async def page(self, keys: KeyRange, *, after: str | None = None, limit: int = PAGE) -> KeyPage:
        return await self._run(lambda: self._read(lambda txn: _page(txn, keys, after, limit)))

    async def clear(self) -> None:
        def empty() -> None:
            with self._begin(write=True) as txn:
                txn.drop(self._open().lmdb.open_db(txn=txn), delete=False)

        await self._run(empty)

    async def close(self) -> None:
        """Drop the reference; the environment closes with the last one."""
        self._environment = None

    def _open(self) -> _Environment:
        if self._environment is None:
            # Concurrent threads must not open two environments.
            with _OPENING:
                self._environment = _OPEN.get(self._folder) or _OPEN.setdefault(
                    self._folder, _Environment(self._folder)
                )
        return self._environment

    @contextmanager
    def _begin(self, *, write: bool) -> Iterator[lmdb.Transaction]:
        with self._open().lmdb.begin(write=write) as transaction:
            yield transaction

    def _read(self, query: Callable[[lmdb.Transaction], Result]) -> Result:
        with self._begin(write=False) as txn:
            return query(txn)

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Run in a thread, because the disk may be slow."""
        try:
            return await asyncio.to_thread(work)
        except (lmdb.Error, OSError) as error:
            raise edge_unavailable(error) from error


def _serial(txn: lmdb.Transaction) -> int:
    return int(_bytes(txn.get(SERIAL)) or 0)


def _bytes(value: "bytes | memoryview[int] | None") -> bytes | None:
    return None if value is None else bytes(value)


def _page(txn: lmdb.Transaction, keys: KeyRange, after: str | None, limit: int) -> KeyPage:
    items: list[Item] = []
    stop = keys.stop.encode()
    with txn.cursor() as cursor:
        found = cursor.set_range((after or keys.start).encode())
        if found and after is not None and cursor.key() == after.encode():
            found = cursor.next()
        while found and (key := bytes(cursor.key())) < stop:
            if len(items) == limit:
                return KeyPage(items, items[-1].key)
            items.append(Item(key.decode(), bytes(cursor.value())))
            found = cursor.next()
    return KeyPage(items, None)
