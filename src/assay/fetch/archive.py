"""The files of one commit, unpacked into an unnamed temporary file: archived paths are never written to disk."""

import gzip
import os
import tarfile
import tempfile
import weakref
import zlib
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO

from assay.fetch.limits import Limits
from assay.fetch.paths import path_problem
from assay.fetch.tar_stream import BoundedTarStream
from assay.model.errors import Invalid

MIB = 1024 * 1024
# Exceptions that tarfile, gzip and zlib raise for malformed input.
MALFORMED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, LookupError, RecursionError)


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """Location of a file's bytes; an offset of None means that the file was too large to store."""

    size: int
    offset: int | None


@dataclass(eq=False)
class Archive:
    """The regular files of an archive; links, devices and files with unsafe paths are listed in `left_out`."""

    files: dict[str, ArchiveEntry] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    pack: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    size_bytes: int = 0

    def __post_init__(self) -> None:
        # Close on garbage collection: a reader may still use an archive that was evicted from the cache.
        weakref.finalize(self, self.pack.close)

    @property
    def weight(self) -> int:
        """Cost of caching it: its bytes on disk, its index in memory, and one open file."""
        return self.size_bytes + 4096 * (len(self.files) + len(self.left_out)) + 4 * MIB

    def read(self, path: str) -> bytes:
        entry = self.files[path]
        assert entry.offset is not None
        return os.pread(self.pack.fileno(), entry.size, entry.offset)

    def paths_under(self, folder: str) -> list[str]:
        """Return the full paths of all files in a folder; takes time proportional to the folder, not the archive."""
        if not folder:
            return self._sorted
        first = bisect_left(self._sorted, f"{folder}/")
        # "0" is the character after "/", so every path in the folder sorts before it.
        return self._sorted[first : bisect_left(self._sorted, f"{folder}0", first)]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.files)


def unpack_tar(stream: IO[bytes], limits: Limits, *, strip_root: bool) -> Archive:
    """Read a tar.gz once. Raises Invalid if it is malformed, truncated, hostile or exceeds the limits."""
    archive, tar_stream = Archive(), BoundedTarStream(stream, limits)
    try:
        with tarfile.TarFile(fileobj=tar_stream, encoding="utf-8") as tar:  # type: ignore[arg-type]
            entries = 0
            while (member := tar.next()) is not None:
                entries += 1
                check_count(entries, limits)
                _add_member(archive, tar_stream, member, limits, strip_root)
                # TarFile remembers all members; those of a large archive would fill the memory.
                tar.members.clear()  # type: ignore[attr-defined]
        tar_stream.finish()
    except MALFORMED as error:
        raise Invalid(f"The archive cannot be read: {error}", code="bad_archive") from error
    archive.pack.flush()
    return archive


def check_count(entries: int, limits: Limits) -> None:
    """Raise Invalid if an archive has too many entries."""
    if entries > limits.archive_entries:
        raise Invalid(f"The archive has more than {limits.archive_entries} entries.", code="archive_too_large")


def add_file(archive: Archive, path: str, size: int, read: Callable[[int], bytes], limits: Limits) -> None:
    """Add a file, or only its size if it is too large; raise Invalid if the archive exceeds the limits."""
    archive.size_bytes += size
    if archive.size_bytes > limits.archive_bytes:
        raise Invalid(f"The archive unpacks to more than {limits.archive_bytes} bytes.", code="archive_too_large")
    if path in archive.files:
        raise Invalid(f"The archive contains {path!r} twice.", code="bad_archive")
    if size > limits.file_bytes:
        archive.files[path] = ArchiveEntry(size, None)
        return
    data = read(size)
    if len(data) != size:
        raise Invalid(f"The archive ends in the middle of {path!r}.", code="bad_archive")
    archive.files[path] = ArchiveEntry(size, archive.pack.tell())
    archive.pack.write(data)


def leave_out(archive: Archive, path: str, reason: str, limits: Limits) -> None:
    """Record an entry that cannot be included; a skill that contains it is refused."""
    archive.left_out[path[: limits.path_length]] = reason


def _add_member(
    archive: Archive, tar_stream: BoundedTarStream, member: tarfile.TarInfo, limits: Limits, strip_root: bool
) -> None:
    path = _below_root(member.name) if strip_root else member.name.removeprefix("./")
    if member.isdir() or not path:
        return
    if problem := path_problem(path, limits):
        leave_out(archive, path, f"its path {problem}", limits)
    elif not member.isreg() or member.issparse():
        leave_out(archive, path, "it is a link, a device or a sparse file", limits)
    else:
        tar_stream.seek(member.offset_data)
        add_file(archive, path, member.size, tar_stream.content, limits)


def _below_root(name: str) -> str:
    """Return the path below the single folder that contains everything."""
    root, _, path = name.partition("/")
    if root in ("", ".", ".."):
        raise Invalid(f"The archive contains {name[:100]!r}, which is outside its root folder.", code="bad_archive")
    return path
