"""The files of a fetched commit, listed and read from git's object store without a checkout."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.git.command import Bounds, run_git
from assay.model.errors import Invalid, Unavailable

# The minimal configuration of a bare repository.
BARE = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
REGULAR_MODES = frozenset({"100644", "100755", "100664"})
LONGEST_ENTRY = 8192
# An upper bound for git's output, far above the limits for repositories.
MAX_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class GitEntry:
    """A path in a commit: a file, a link or a submodule."""

    mode: str
    object_id: str
    path: str

    @property
    def is_regular(self) -> bool:
        return self.mode in REGULAR_MODES

    @property
    def is_file(self) -> bool:
        """True for anything with content: files and symbolic links, but not submodules."""
        return self.mode != "160000"


@dataclass(frozen=True)
class GitCommit:
    """A fetched commit in a folder; valid while the folder exists."""

    folder: Path
    entries: Sequence[GitEntry]
    bounds: Bounds

    async def sizes(self) -> dict[str, int]:
        """Return the size of every fetched object; objects that are missing exceeded the fetch limit."""
        found = self.folder / "sizes"
        object_ids = {each.object_id for each in self.entries if each.is_regular}
        await self._cat("--batch-check=%(objectname) %(objecttype) %(objectsize)", sorted(object_ids), found)
        return await asyncio.to_thread(_sizes_in, found)

    async def contents(self, object_ids: Sequence[str]) -> Path:
        """Write the content of these objects to a file, in this order, for `read_contents`."""
        found = self.folder / "contents"
        await self._cat("--batch=%(objectname) %(objectsize)", object_ids, found)
        return found

    async def _cat(self, batch_option: str, object_ids: Sequence[str], output: Path) -> None:
        names = self.folder / "names"
        await asyncio.to_thread(names.write_text, "".join(f"{each}\n" for each in object_ids))
        arguments = ("cat-file", "--buffer", batch_option)
        exit_ = await run_git(arguments, self.folder, self.bounds, read=names, write=output)
        if exit_.is_too_large:
            raise Invalid("The repository is too large.", code="archive_too_large")
        if exit_.status != 0:
            raise Unavailable("git cannot read the objects that it fetched.", code="git_unavailable")


async def list_tree(folder: Path, commit: str, bounds: Bounds) -> list[GitEntry]:
    """Return every path of a commit in git's order; raise Invalid if there are too many."""
    found = folder / "tree"
    exit_ = await run_git(("ls-tree", "-r", "-z", "--full-tree", commit), folder, bounds, write=found)
    if exit_.is_too_large:
        raise Invalid("The repository has too many files.", code="archive_too_large")
    if exit_.status != 0:
        raise Unavailable("git cannot read the objects that it fetched.", code="git_unavailable")
    return await asyncio.to_thread(_entries_in, found)


def read_contents(contents: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yield the id, size and stream of each object; read the stream before advancing."""
    with contents.open("rb") as stream:
        while header := stream.readline(LONGEST_ENTRY):
            object_id, _, size = header.decode("ascii", "replace").rstrip("\n").partition(" ")
            if not size.isdecimal():
                raise Unavailable("git lost an object that it had fetched.", code="git_unavailable")
            start = stream.tell()
            yield object_id, int(size), stream
            stream.seek(start + int(size) + 1)


def _entries_in(listed: Path) -> list[GitEntry]:
    entries = []
    for record in _records(listed):
        about, _, path = record.partition(b"\t")
        mode, _, object_id = about.decode("ascii", "replace").split(" ", 2)
        # Keep a name that is not UTF-8 recognisable as such; it is refused later like other unprintable names.
        entries.append(GitEntry(mode, object_id, path.decode("utf-8", "surrogateescape")))
        if len(entries) > MAX_ENTRIES:
            raise Invalid("The repository has too many files.", code="archive_too_large")
    return entries


def _records(listed: Path) -> Iterator[bytes]:
    with listed.open("rb") as stream:
        rest = b""
        while part := stream.read(1 << 20):
            *records, rest = (rest + part).split(b"\0")
            yield from records


def _sizes_in(found: Path) -> dict[str, int]:
    sizes = {}
    with found.open("r", encoding="ascii", errors="replace") as lines:
        for line in lines:
            match line.split():
                case [object_id, "blob", size]:
                    sizes[object_id] = int(size)
    return sizes
