"""An on-disk cache of commit archives, shared by all processes of a machine and verified on every load."""

import hashlib
import json
import os
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import structlog

from assay.fetch.archive import Archive, ArchiveEntry

log = structlog.get_logger()

# File header: format, SHA-256 of everything after the header, and length of the index.
FORMAT = b"ASSAYPK1"
HEADER = struct.Struct(">8s32sQ")
CHUNK_BYTES = 1 << 20
MAX_ENTRIES = 2_000
# Evict each time 1/20 of the capacity has been added.
EVICT_DIVISOR = 20
SUFFIX, UNFINISHED = ".pack", ".part"
# An unfinished file that is older than this belongs to a dead process.
ABANDONED_SECONDS = 3600


@dataclass
class _Added:
    """Additions by this process since its last eviction; starts high so that the first addition evicts."""

    files: int = MAX_ENTRIES
    size_bytes: int = 0


@dataclass(frozen=True)
class ArchiveCache:
    """A folder of bounded size with least-recently-used eviction. Losing an entry costs one download.

    Listing the folder is slower than adding to it. A process therefore evicts on its first addition, and then each time
    it has added a twentieth of the capacity; the folder may exceed its size by that much per process.
    """

    folder: Path
    size_bytes: int
    _added: _Added = field(default_factory=_Added, compare=False)

    def load(self, key: str) -> Archive | None:
        """Return the archive, or None; a damaged file is deleted."""
        file = self._file(key)
        try:
            pack = file.open("rb")
        except OSError:
            return None
        archive = _read(pack)
        if archive is None:
            pack.close()
            log.warning("Deleted a damaged cached archive", file=file.name)
            file.unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(file)
        return archive

    def save(self, key: str, archive: Archive) -> None:
        """Write an archive atomically; a full disk is logged, not raised."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if archive.size_bytes > self.size_bytes:
                return
            handle, name = tempfile.mkstemp(suffix=UNFINISHED, dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    _write(archive, file)
                Path(name).replace(self._file(key))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._count_addition(archive)
        except OSError as error:
            log.warning("Failed to cache an archive", error=str(error))

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}{SUFFIX}"

    def _count_addition(self, archive: Archive) -> None:
        added = self._added
        added.files += 1
        added.size_bytes += archive.size_bytes
        if added.files * EVICT_DIVISOR >= MAX_ENTRIES or added.size_bytes * EVICT_DIVISOR >= self.size_bytes:
            added.files = added.size_bytes = 0
            self._evict()

    def _evict(self) -> None:
        cached, total = [], 0
        for file, about in self._entries():
            if file.suffix == UNFINISHED:
                if about.st_mtime < time.time() - ABANDONED_SECONDS:
                    file.unlink(missing_ok=True)
                continue
            cached.append((about.st_mtime_ns, about.st_size, file))
            total += about.st_size
        cached.sort()
        too_many = max(0, len(cached) - MAX_ENTRIES)
        for number, (_, size, file) in enumerate(cached):
            if number >= too_many and total <= self.size_bytes:
                return
            file.unlink(missing_ok=True)
            total -= size

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for file in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another process may delete it meanwhile
                yield file, file.stat()


def _write(archive: Archive, file: IO[bytes]) -> None:
    index = json.dumps(
        {
            "files": {path: [entry.size, entry.offset] for path, entry in archive.files.items()},
            "left_out": archive.left_out,
            "size_bytes": archive.size_bytes,
        }
    ).encode()
    digest = hashlib.sha256(index)
    file.write(HEADER.pack(FORMAT, bytes(32), len(index)))
    file.write(index)
    position, source = 0, archive.pack.fileno()
    while part := os.pread(source, CHUNK_BYTES, position):
        digest.update(part)
        file.write(part)
        position += len(part)
    file.seek(0)
    file.write(HEADER.pack(FORMAT, digest.digest(), len(index)))


def _read(pack: IO[bytes]) -> Archive | None:
    header = pack.read(HEADER.size)
    if len(header) != HEADER.size:
        return None
    format_, expected, length = HEADER.unpack(header)
    if format_ != FORMAT or length > os.fstat(pack.fileno()).st_size:
        return None
    index = pack.read(length)
    digest = hashlib.sha256(index)
    while part := pack.read(CHUNK_BYTES):
        digest.update(part)
    if digest.digest() != expected:
        return None
    known, start = json.loads(index), HEADER.size + length
    files = {
        path: ArchiveEntry(size, None if offset is None else start + offset)
        for path, (size, offset) in known["files"].items()
    }
    return Archive(files, known["left_out"], pack, known["size_bytes"])
