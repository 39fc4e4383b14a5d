"""Sources, manifests and content digests."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec


class FileEntry(msgspec.Struct, frozen=True):
    path: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """All files of a skill folder, sorted by path."""

    files: tuple[FileEntry, ...]

    def encode(self) -> bytes:
        """Return the canonical form, whose SHA-256 is the content digest: compact JSON, files in path order."""
        return msgspec.json.encode(self)

    @property
    def digest(self) -> str:
        return digest_of(self.encode())

    @property
    def size_bytes(self) -> int:
        return sum(entry.size for entry in self.files)


@dataclass(frozen=True)
class Source:
    """The files of one skill folder as fetched at one commit."""

    files: Mapping[str, bytes]
    commit: str

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest(
            tuple(
                FileEntry(path, len(content), hashlib.sha256(content).hexdigest())
                for path, content in sorted(self.files.items())
            )
        )

    @cached_property
    def digest(self) -> str:
        """The content digest: equal if and only if all paths and bytes are equal."""
        return self.manifest.digest

    @property
    def skill_md(self) -> bytes:
        return self.files["SKILL.md"]


def digest_of(content: bytes) -> str:
    """Return `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
