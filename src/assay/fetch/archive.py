"""An archive of a commit, unpacked once into one nameless file: paths are looked up, never written to disk."""

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

from assay.fetch.inflate import Inflated
from assay.fetch.limits import Limits
from assay.fetch.paths import problem_with
from assay.model.errors import Invalid

MIB = 1024 * 1024
# What tarfile, gzip and zlib raise when they are fed nonsense.
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, LookupError, RecursionError)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a file's bytes are; an offset of None says that it was too large to keep."""

    size: int
    offset: int | None


@dataclass(eq=False)
class Archive:
    """The regular files of an archive. What is not one (links, devices) is listed as left out."""

    files: dict[str, Entry] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    pack: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    size_bytes: int = 0

    def __post_init__(self) -> None:
        # Whoever still reads from an archive that was dropped from the cache keeps it open.
        weakref.finalize(self, self.pack.close)

    @property
    def weight(self) -> int:
        """What it costs to keep: its bytes on disk, its index in memory, and one of few open files."""
        return self.size_bytes + 4096 * (len(self.files) + len(self.left_out)) + 4 * MIB

    def read(self, path: str) -> bytes:
        """The bytes of one file."""
        entry = self.files[path]
        assert entry.offset is not None
        return os.pread(self.pack.fileno(), entry.size, entry.offset)

    def paths_under(self, folder: str) -> list[str]:
        """All files of a folder, with their full paths; costs as much as the folder, not as the archive."""
        if not folder:
            return self._sorted
        first = bisect_left(self._sorted, f"{folder}/")
        # "0" is the character after "/", so everything that starts with the folder sorts before it.
        return self._sorted[first : bisect_left(self._sorted, f"{folder}0", first)]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.files)


def unpack_tar(stream: IO[bytes], limits: Limits, *, strip_root: bool) -> Archive:
    """Read a tar.gz once. Raises Invalid if it is broken, cut short, hostile or larger than the limits."""
    archive, plain = Archive(), Inflated(stream, limits)
    try:
        with tarfile.TarFile(fileobj=plain, encoding="utf-8") as tar:  # type: ignore[arg-type]
            entries = 0
            while (member := tar.next()) is not None:
                entries += 1
                check_count(entries, limits)
                _take(archive, plain, member, limits, strip_root)
                # A tar remembers all its members; those of a large one would fill the memory.
                tar.members.clear()  # type: ignore[attr-defined]
        plain.finish()
    except BROKEN as problem:
        raise Invalid(f"The archive cannot be read: {problem}", code="bad_archive") from problem
    archive.pack.flush()
    return archive


def check_count(entries: int, limits: Limits) -> None:
    """Raises Invalid if there are too many."""
    if entries > limits.archive_entries:
        raise Invalid(f"The archive has more than {limits.archive_entries} entries.", code="archive_too_large")


def add_file(archive: Archive, path: str, size: int, read: Callable[[int], bytes], limits: Limits) -> None:
    """Keep one file, or the fact that it is too large; never more than the limits in all."""
    archive.size_bytes += size
    if archive.size_bytes > limits.archive_bytes:
        raise Invalid(f"The archive unpacks to more than {limits.archive_bytes} bytes.", code="archive_too_large")
    if path in archive.files:
        raise Invalid(f"The archive contains {path!r} twice.", code="bad_archive")
    if size > limits.file_bytes:
        archive.files[path] = Entry(size, None)
        return
    data = read(size)
    if len(data) != size:
        raise Invalid(f"The archive ends in the middle of {path!r}.", code="bad_archive")
    archive.files[path] = Entry(size, archive.pack.tell())
    archive.pack.write(data)


def leave_out(archive: Archive, path: str, why: str, limits: Limits) -> None:
    """Note that something is there which cannot be taken."""
    archive.left_out[path[: limits.path_length]] = why


def _take(archive: Archive, plain: Inflated, member: tarfile.TarInfo, limits: Limits, strip_root: bool) -> None:
    path = _stripped(member.name) if strip_root else member.name.removeprefix("./")
    if member.isdir() or not path:
        return
    if problem := problem_with(path, limits):
        leave_out(archive, path, f"its path {problem}", limits)
    elif not member.isreg() or member.issparse():
        leave_out(archive, path, "it is a link, a device or a sparse file", limits)
    else:
        plain.seek(member.offset_data)
        add_file(archive, path, member.size, plain.content, limits)


def _stripped(name: str) -> str:
    """The path below the one folder that holds everything."""
    root, _, path = name.partition("/")
    if root in ("", ".", ".."):
        raise Invalid(f"The archive contains {name[:100]!r}, which is outside of its folder.", code="bad_archive")
    return path
