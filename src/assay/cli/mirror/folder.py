"""The folder of a mirror: what it has, and how it is written so that a cut leaves nothing half done.

mirror.json                       the registry, the last serial, the keys that are trusted
feed/0000000001-0000000100.json   the pages of the feed as they were signed, each with its signature beside it
skills/owner/repo/skill.json      each listing as the registry serves it, or why it is gone
contents/ab/cdef….tar.gz          the bytes of versions by their digest, as archives: nothing is unpacked
blocklist.json                    the blocklist as it was signed, with its signature beside it
"""

import os
from collections.abc import Set
from pathlib import Path
from urllib.parse import quote

import msgspec

from assay.model.errors import Conflict

STATE, SKILLS = "mirror.json", "skills"
WITHDRAWN = "withdrawn"


class Kept(msgspec.Struct, frozen=True):
    """How far the mirror is, and whom it trusts."""

    registry: str
    serial: int
    keys: dict[str, str]


class Folder:
    """A mirror on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_state(self) -> Kept | None:
        """None if nothing was ever kept here. Raises Conflict if the folder is something else."""
        file = self.root / STATE
        if not file.exists():
            if self.root.exists() and any(self.root.iterdir()):
                raise Conflict(f"{self.root} is not empty and holds no mirror.", code="not_a_mirror")
            return None
        try:
            return msgspec.json.decode(file.read_bytes(), type=Kept)
        except msgspec.DecodeError as problem:
            raise Conflict(f"{file} cannot be read: {problem}", code="not_a_mirror") from problem

    def write_state(self, state: Kept) -> None:
        """The last thing that is written of a page."""
        self._write(Path(STATE), msgspec.json.format(msgspec.json.encode(state)))

    def keep_page(self, first: int, last: int, body: bytes, signature: str) -> None:
        """A page of the feed, as proof."""
        name = f"{first:010d}-{last:010d}"
        self._write(Path("feed") / f"{name}.sig", signature.encode())
        self._write(Path("feed") / f"{name}.json", body)

    def keep_blocklist(self, body: bytes, signature: str) -> None:
        """The blocklist, as proof."""
        self._write(Path("blocklist.sig"), signature.encode())
        self._write(Path("blocklist.json"), body)

    def keep_skill(self, name: str, document: object) -> None:
        """A listing, or why it is gone."""
        self._write(self._skill(name), msgspec.json.format(msgspec.json.encode(document)))

    def drop_skill(self, name: str) -> None:
        """A name that leads to nothing."""
        (self.root / self._skill(name)).unlink(missing_ok=True)

    def has_content(self, digest: str) -> bool:
        """Whether these bytes are here; they were checked when they came."""
        return (self.root / self._content(digest)).exists()

    def keep_content(self, digest: str, archive: bytes) -> None:
        """The bytes of a version."""
        self._write(self._content(digest), archive)

    def drop_contents(self, digests: Set[str]) -> None:
        """Bytes that nobody is to have any more, unless another listing is still given out with them."""
        here = {digest for digest in digests if self.has_content(digest)}
        if here:
            for digest in here - self._digests_in_use():
                (self.root / self._content(digest)).unlink(missing_ok=True)

    def digests_of(self, name: str) -> set[str]:
        """The contents of the versions of a listing that may be had, as it was kept."""
        file = self.root / self._skill(name)
        return _digests_in(file) if file.exists() else set()

    def _digests_in_use(self) -> set[str]:
        return {digest for file in (self.root / SKILLS).rglob("*.json") for digest in _digests_in(file)}

    def _skill(self, name: str) -> Path:
        # A name comes from outside: quoted, none of its parts can lead anywhere else.
        parts = [_quoted(part) for part in name.split("/")]
        return Path(SKILLS, *parts[:-1], f"{parts[-1]}.json")

    def _content(self, digest: str) -> Path:
        plain = digest.removeprefix("sha256:")
        return Path("contents", plain[:2], f"{plain[2:]}.tar.gz")

    def _write(self, place: Path, data: bytes) -> None:
        """Whole or not at all."""
        file = self.root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f".{file.name}.new")
        with fresh.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(file)


def _quoted(part: str) -> str:
    quoted = quote(part, safe="")
    return quoted.replace(".", "%2E") if part in (".", "..") else quoted


def _digests_in(file: Path) -> set[str]:
    versions = msgspec.json.decode(file.read_bytes()).get("versions", ())
    return {str(each["contentDigest"]) for each in versions if each["status"] != WITHDRAWN}
