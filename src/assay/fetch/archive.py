"""An archive of a commit, unpacked once into one nameless file: paths are looked up, never written to disk."""

import os
import tarfile
import tempfile
import weakref
import zlib
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO

from assay.fetch.limits import Limits
from assay.fetch.paths import problem_with
from assay.model.errors import Invalid


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
    """Read a tar stream once. Raises Invalid if it is broken, hostile or larger than the limits."""
    archive = Archive()
    try:
        with tarfile.open(fileobj=stream, mode="r|*") as members:
            for count, member in enumerate(members, start=1):
                if count > limits.archive_entries:
                    raise Invalid(
                        f"The archive has more than {limits.archive_entries} entries.",
                        code="archive_too_large",
                    )
                _take(archive, members, member, limits, strip_root)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as problem:
        raise Invalid(f"The archive cannot be read: {problem}", code="bad_archive") from problem
    archive.pack.flush()
    return archive


def add_file(archive: Archive, path: str, size: int, content: IO[bytes], limits: Limits) -> None:
    """Keep one file, or the fact that it is too large; never more than the limits in all."""
    archive.size_bytes += size
    if archive.size_bytes > limits.archive_bytes:
        raise Invalid(f"The archive unpacks to more than {limits.archive_bytes} bytes.", code="archive_too_large")
    if path in archive.files:
        raise Invalid(f"The archive contains {path!r} twice.", code="bad_archive")
    if size > limits.file_bytes:
        archive.files[path] = Entry(size, None)
        return
    data = content.read(size)
    if len(data) != size:
        raise Invalid(f"The archive ends in the middle of {path!r}.", code="bad_archive")
    archive.files[path] = Entry(size, archive.pack.tell())
    archive.pack.write(data)


def _take(
    archive: Archive, members: tarfile.TarFile, member: tarfile.TarInfo, limits: Limits, strip_root: bool
) -> None:
    path = member.name.partition("/")[2] if strip_root else member.name.removeprefix("./")
    if member.isdir() or not path:
        return
    if problem := problem_with(path, limits):
        archive.left_out[path] = f"its path {problem}"
    elif not member.isreg():
        archive.left_out[path] = "it is not a regular file"
    else:
        content = members.extractfile(member)
        assert content is not None
        add_file(archive, path, member.size, content, limits)
