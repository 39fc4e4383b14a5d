"""A source: the files of one skill folder at one commit, and the digest that names exactly these bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec


class FileEntry(msgspec.Struct, frozen=True):
    """One file of a manifest."""

    path: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """All files of a skill folder, sorted by path. Its canonical bytes hash to the content digest."""

    files: tuple[FileEntry, ...]

    def encode(self) -> bytes:
        """The canonical bytes: compact JSON, files in path order."""
        return msgspec.json.encode(self)

    @property
    def digest(self) -> str:
        """`sha256:…` over the canonical bytes."""
        return digest_of(self.encode())

    @property
    def size_bytes(self) -> int:
        """The sum of all file sizes."""
        return sum(entry.size for entry in self.files)


@dataclass(frozen=True)
class Source:
    """The files of one skill folder, as fetched."""

    files: Mapping[str, bytes]
    commit: str

    @cached_property
    def manifest(self) -> Manifest:
        """What these files are, by hash."""
        return Manifest(
            tuple(
                FileEntry(path, len(content), hashlib.sha256(content).hexdigest())
                for path, content in sorted(self.files.items())
            )
        )

    @cached_property
    def digest(self) -> str:
        """The content digest: equal exactly if every path and every byte is equal."""
        return self.manifest.digest

    @property
    def skill_md(self) -> bytes:
        """The instructions that an agent will read."""
        return self.files["SKILL.md"]


def digest_of(content: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
