"""Archives of commits on disk, for all processes of a machine: by repository and commit, checked before use."""

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

from assay.fetch.archive import Archive, Entry

log = structlog.get_logger()

# The first bytes of a file: which form it has, the digest of all that follows, and how long the index is.
FORM = b"ASSAYPK1"
HEADER = struct.Struct(">8s32sQ")
CHUNK_BYTES = 1 << 20
MOST_ENTRIES = 2_000
PARTS = 20
SUFFIX, UNFINISHED = ".pack", ".part"
# Whoever writes longer than this is dead.
ABANDONED_SECONDS = 3600


@dataclass
class _Added:
    """What this process has added since it last looked at the whole folder, which it has not yet done."""

    files: int = MOST_ENTRIES
    size_bytes: int = 0


@dataclass(frozen=True)
class ArchiveCache:
    """A folder of bounded size; what was not used for longest goes first. To lose any of it costs a download.

    To look at all of it takes longer than to add to it. So a process does that when it first adds something, and then
    whenever it has added a twentieth of what may be there: that much more may be there for each process.
    """

    folder: Path
    size_bytes: int
    _added: _Added = field(default_factory=_Added, compare=False)

    def load(self, key: str) -> Archive | None:
        """The archive, if it is here and whole; one that is not is dropped."""
        file = self._file(key)
        try:
            pack = file.open("rb")
        except OSError:
            return None
        archive = _read(pack)
        if archive is None:
            pack.close()
            log.warning("A kept archive was damaged; it is fetched again", file=file.name)
            file.unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(file)
        return archive

    def save(self, key: str, archive: Archive) -> None:
        """Keep it. Nobody ever sees half of it; a disk that is full is no reason to fail."""
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
            self._make_room_for(archive)
        except OSError as problem:
            log.warning("An archive could not be kept", problem=str(problem))

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}{SUFFIX}"

    def _make_room_for(self, archive: Archive) -> None:
        added = self._added
        added.files += 1
        added.size_bytes += archive.size_bytes
        if added.files * PARTS >= MOST_ENTRIES or added.size_bytes * PARTS >= self.size_bytes:
            added.files = added.size_bytes = 0
            self._make_room()

    def _make_room(self) -> None:
        kept, total = [], 0
        for file, about in self._entries():
            if file.suffix == UNFINISHED:
                if about.st_mtime < time.time() - ABANDONED_SECONDS:
                    file.unlink(missing_ok=True)
                continue
            kept.append((about.st_mtime_ns, about.st_size, file))
            total += about.st_size
        kept.sort()
        too_many = max(0, len(kept) - MOST_ENTRIES)
        for number, (_, size, file) in enumerate(kept):
            if number >= too_many and total <= self.size_bytes:
                return
            file.unlink(missing_ok=True)
            total -= size

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Another process may delete them meanwhile."""
        for file in self.folder.iterdir():
            with suppress(FileNotFoundError):
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
    file.write(HEADER.pack(FORM, bytes(32), len(index)))
    file.write(index)
    position, source = 0, archive.pack.fileno()
    while part := os.pread(source, CHUNK_BYTES, position):
        digest.update(part)
        file.write(part)
        position += len(part)
    file.seek(0)
    file.write(HEADER.pack(FORM, digest.digest(), len(index)))


def _read(pack: IO[bytes]) -> Archive | None:
    header = pack.read(HEADER.size)
    if len(header) != HEADER.size:
        return None
    form, expected, length = HEADER.unpack(header)
    if form != FORM or length > os.fstat(pack.fileno()).st_size:
        return None
    index = pack.read(length)
    digest = hashlib.sha256(index)
    while part := pack.read(CHUNK_BYTES):
        digest.update(part)
    if digest.digest() != expected:
        return None
    known, start = json.loads(index), HEADER.size + length
    files = {
        path: Entry(size, None if offset is None else start + offset) for path, (size, offset) in known["files"].items()
    }
    return Archive(files, known["left_out"], pack, known["size_bytes"])
