"""The files of a fetched commit: listed and read out of git's own store, never checked out."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.git.command import Bounds, run_git
from assay.model.errors import Invalid, Unavailable

# All that git needs to know about a folder of objects.
BARE = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
REGULAR_MODES = frozenset({"100644", "100755", "100664"})
LONGEST_ENTRY = 8192
# An upper bound for git, far above what the limits of a repository allow.
MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class GitEntry:
    """A path of a commit; links and submodules are entries too."""

    mode: str
    object_id: str
    path: str

    @property
    def is_regular(self) -> bool:
        """Whether it is a plain file."""
        return self.mode in REGULAR_MODES

    @property
    def is_file(self) -> bool:
        """Whether there are bytes behind it, be they those of a link."""
        return self.mode != "160000"


@dataclass(frozen=True)
class GitCommit:
    """A commit that lies in a folder, as long as that is there."""

    folder: Path
    entries: Sequence[GitEntry]
    bounds: Bounds

    async def sizes(self) -> dict[str, int]:
        """The size of every object that was fetched; what is not there was too large."""
        found = self.folder / "sizes"
        wanted = {each.object_id for each in self.entries if each.is_regular}
        await self._cat("--batch-check=%(objectname) %(objecttype) %(objectsize)", sorted(wanted), found)
        return await asyncio.to_thread(_sizes_in, found)

    async def contents(self, object_ids: Sequence[str]) -> Path:
        """A file with the bytes of these objects in this order, for `read_contents`."""
        found = self.folder / "contents"
        await self._cat("--batch=%(objectname) %(objectsize)", object_ids, found)
        return found

    async def _cat(self, form: str, object_ids: Sequence[str], found: Path) -> None:
        wanted = self.folder / "wanted"
        await asyncio.to_thread(wanted.write_text, "".join(f"{each}\n" for each in object_ids))
        ended = await run_git(("cat-file", "--buffer", form), self.folder, self.bounds, read=wanted, write=found)
        if ended.is_too_large:
            raise Invalid("The repository is too large.", code="archive_too_large")
        if ended.status != 0:
            raise Unavailable("git cannot read what it fetched.", code="git_unavailable")


async def list_tree(folder: Path, commit: str, bounds: Bounds) -> list[GitEntry]:
    """Every path of a commit, in git's order; Invalid if there is no end of them."""
    found = folder / "tree"
    ended = await run_git(("ls-tree", "-r", "-z", "--full-tree", commit), folder, bounds, write=found)
    if ended.is_too_large:
        raise Invalid("The repository has too many files.", code="archive_too_large")
    if ended.status != 0:
        raise Unavailable("git cannot read what it fetched.", code="git_unavailable")
    return await asyncio.to_thread(_entries_in, found)


def read_contents(contents: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Object by object: its id, its size, and the stream at its first byte. Each must be read before the next."""
    with contents.open("rb") as stream:
        while header := stream.readline(LONGEST_ENTRY):
            object_id, _, size = header.decode("ascii", "replace").rstrip("\n").partition(" ")
            if not size.isdecimal():
                raise Unavailable("git lost an object that it had.", code="git_unavailable")
            start = stream.tell()
            yield object_id, int(size), stream
            stream.seek(start + int(size) + 1)


def _entries_in(listed: Path) -> list[GitEntry]:
    entries = []
    for record in _records(listed):
        about, _, path = record.partition(b"\t")
        mode, _, object_id = about.decode("ascii", "replace").split(" ", 2)
        # A name that is no text stays visible as such, and is refused like other names that cannot be shown.
        entries.append(GitEntry(mode, object_id, path.decode("utf-8", "surrogateescape")))
        if len(entries) > MOST_ENTRIES:
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
