"""The folder of a mirror. Every file is replaced atomically, so that an interruption leaves no partial file.

mirror.json                       the registry, the last serial and the trusted keys
feed/0000000001-0000000100.json   the signed pages of the change feed, each with its signature beside it
skills/owner/repo/skill.json      each listing as the registry serves it, or the reason why it is gone
contents/ab/cdef….tar.gz          the contents of versions by digest, as archives that are never unpacked
blocklist.json                    the signed blocklist, with its signature beside it
"""

import os
from collections.abc import Set
from pathlib import Path
from urllib.parse import quote

import msgspec

from assay.model.errors import Conflict

STATE, SKILLS = "mirror.json", "skills"
WITHDRAWN = "withdrawn"


class MirrorState(msgspec.Struct, frozen=True):
    """The last applied serial and the trusted keys."""

    registry: str
    serial: int
    keys: dict[str, str]


class MirrorFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def read_state(self) -> MirrorState | None:
        """Return None for a new or empty folder. Raises Conflict if the folder is not a mirror."""
        file = self.root / STATE
        if not file.exists():
            if self.root.exists() and any(self.root.iterdir()):
                raise Conflict(f"{self.root} is not empty and is not a mirror.", code="not_a_mirror")
            return None
        try:
            return msgspec.json.decode(file.read_bytes(), type=MirrorState)
        except msgspec.DecodeError as problem:
            raise Conflict(f"{file} cannot be read: {problem}", code="not_a_mirror") from problem

    def write_state(self, state: MirrorState) -> None:
        """Record a page as applied; call this after everything else of the page is written."""
        self._write(Path(STATE), msgspec.json.format(msgspec.json.encode(state)))

    def save_page(self, first: int, last: int, body: bytes, signature: str) -> None:
        name = f"{first:010d}-{last:010d}"
        self._write(Path("feed") / f"{name}.sig", signature.encode())
        self._write(Path("feed") / f"{name}.json", body)

    def save_blocklist(self, body: bytes, signature: str) -> None:
        self._write(Path("blocklist.sig"), signature.encode())
        self._write(Path("blocklist.json"), body)

    def save_skill(self, name: str, document: object) -> None:
        """Write a listing, or the reason why it is gone."""
        self._write(self._skill(name), msgspec.json.format(msgspec.json.encode(document)))

    def drop_skill(self, name: str) -> None:
        (self.root / self._skill(name)).unlink(missing_ok=True)

    def has_content(self, digest: str) -> bool:
        """Return whether the content is stored; it is verified before it is saved."""
        return (self.root / self._content(digest)).exists()

    def save_content(self, digest: str, archive: bytes) -> None:
        self._write(self._content(digest), archive)

    def drop_contents(self, digests: Set[str]) -> None:
        """Delete contents that were withdrawn or blocked, unless another listing still uses them."""
        here = {digest for digest in digests if self.has_content(digest)}
        if here:
            for digest in here - self._digests_in_use():
                (self.root / self._content(digest)).unlink(missing_ok=True)

    def digests_of(self, name: str) -> set[str]:
        """Return the contents of the listing's versions that are not withdrawn, as stored."""
        file = self.root / self._skill(name)
        return _digests_in(file) if file.exists() else set()

    def _digests_in_use(self) -> set[str]:
        return {digest for file in (self.root / SKILLS).rglob("*.json") for digest in _digests_in(file)}

    def _skill(self, name: str) -> Path:
        # Names are untrusted: quoting keeps every part inside the folder.
        parts = [_quoted(part) for part in name.split("/")]
        return Path(SKILLS, *parts[:-1], f"{parts[-1]}.json")

    def _content(self, digest: str) -> Path:
        plain = digest.removeprefix("sha256:")
        return Path("contents", plain[:2], f"{plain[2:]}.tar.gz")

    def _write(self, path: Path, data: bytes) -> None:
        """Replace a file atomically."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.new")
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)


def _quoted(part: str) -> str:
    quoted = quote(part, safe="")
    return quoted.replace(".", "%2E") if part in (".", "..") else quoted


def _digests_in(file: Path) -> set[str]:
    versions = msgspec.json.decode(file.read_bytes()).get("versions", ())
    return {str(each["contentDigest"]) for each in versions if each["status"] != WITHDRAWN}
