"""Git object names: every SHA of the fake equals the one that git would compute."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

FOLDER_MODE = "040000"


@dataclass(frozen=True)
class FakeFile:
    """A file in a commit; mode 100755 makes it executable, 120000 a symbolic link to its content."""

    content: bytes
    mode: str = "100644"

    @cached_property
    def sha(self) -> str:
        return hash_object("blob", self.content)


class Entry(NamedTuple):
    """An entry of a tree; only blobs have a size."""

    name: str
    mode: str
    type: str
    sha: str
    size: int | None


@dataclass(frozen=True)
class Tree:
    """A root folder and every folder below it, by SHA."""

    sha: str
    folders: Mapping[str, tuple[Entry, ...]]

    def walk(self, sha: str, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Yield every entry below a folder with its path, folders before their content."""
        for entry in self.folders[sha]:
            path = prefix + entry.name
            yield path, entry
            if entry.type == "tree":
                yield from self.walk(entry.sha, f"{path}/")


def hash_object(kind: str, data: bytes) -> str:
    header = f"{kind} {len(data)}\0".encode()
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()


def build_tree(files: Mapping[str, FakeFile]) -> Tree:
    folders: dict[str, tuple[Entry, ...]] = {}
    return Tree(_add_folder(files, folders), folders)


def hash_commit(tree: str, parent: str | None, author: str, timestamp: int, message: str) -> str:
    """Return the SHA of a commit whose author is also its committer."""
    signature = f"{author} <{author}@users.noreply.github.com> {timestamp} +0000"
    parent_line = f"parent {parent}\n" if parent else ""
    text = f"tree {tree}\n{parent_line}author {signature}\ncommitter {signature}\n\n{message}\n"
    return hash_object("commit", text.encode())


def _add_folder(files: Mapping[str, FakeFile], folders: dict[str, tuple[Entry, ...]]) -> str:
    entries = [_blob(name, file) for name, file in files.items() if "/" not in name]
    for name, below in _subfolders(files).items():
        entries.append(Entry(name, FOLDER_MODE, "tree", _add_folder(below, folders), None))
    # Git sorts folders as if their names ended with a slash.
    entries.sort(key=lambda entry: entry.name + "/" * (entry.type == "tree"))
    data = b"".join(f"{entry.mode.lstrip('0')} {entry.name}\0".encode() + bytes.fromhex(entry.sha) for entry in entries)
    sha = hash_object("tree", data)
    folders[sha] = tuple(entries)
    return sha


def _subfolders(files: Mapping[str, FakeFile]) -> dict[str, dict[str, FakeFile]]:
    below: dict[str, dict[str, FakeFile]] = {}
    for path, file in files.items():
        folder, slash, rest = path.partition("/")
        if slash:
            below.setdefault(folder, {})[rest] = file
    return below


def _blob(name: str, file: FakeFile) -> Entry:
    return Entry(name, file.mode, "blob", file.sha, len(file.content))
