"""The registry that is mirrored: everything that comes from it is checked before anybody sees it."""

import io
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from assay.certify.hallmark import open_hallmark
from assay.certify.signature import is_signed
from assay.cli.registry.client import TIMEOUT, Registry
from assay.cli.registry.errors import Json
from assay.fetch.archive import unpack_tar
from assay.fetch.limits import MIB, Limits
from assay.model.errors import Conflict, Invalid
from assay.model.source import Source

SIGNATURE = re.compile(r'keyid="([0-9a-f]{1,64})", sig="([A-Za-z0-9+/=]{1,200})"')
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# The listing itself has so many; the others are on pages.
SHOWN_VERSIONS = 100
LARGEST_PAGE, LARGEST_ARCHIVE = 64 * MIB, 32 * MIB


class Unproved(Conflict):
    """What came is not what the registry has signed."""

    code = "unproved"


@dataclass(frozen=True)
class Signed:
    """An answer whose signature holds."""

    body: bytes
    signature: str

    @property
    def document(self) -> Json:
        """What it says."""
        document: Json = msgspec.json.decode(self.body)
        return document


@dataclass(frozen=True)
class Upstream:
    """A registry, and the keys that it is known by."""

    registry: Registry
    keys: dict[str, str]

    async def page(self, since: int, limit: int) -> Signed:
        """The changes after a serial."""
        return await self._signed(f"/api/v1/changes?since={since}&limit={limit}")

    async def blocklist(self) -> Signed:
        """All of it."""
        return await self._signed("/api/v1/blocklist")

    async def skill(self, name: str) -> Json:
        """A listing as it is now, with all its versions. Raises NotFound, or Gone with the reason."""
        listing: Json = await self.registry.get(f"/api/v1/skills/{name}")
        if len(listing["versions"]) >= SHOWN_VERSIONS:
            listing["versions"] = await self._versions(listing["skill"]["name"])
        return listing

    async def content(self, name: str, version: Json) -> bytes:
        """The archive of a version, whose files are exactly those that its hallmark names."""
        digest, number = str(version["contentDigest"]), str(version["version"])
        if not DIGEST.fullmatch(digest) or _content_of(version["hallmark"], self.keys) != digest:
            raise Unproved(f"The hallmark of {name} {number} does not verify.")
        archive = await self._bytes(f"/api/v1/skills/{name}/versions/{number}/download?format=tar.gz", LARGEST_ARCHIVE)
        try:
            unpacked = unpack_tar(io.BytesIO(archive), Limits(), strip_root=True)
        except Invalid as problem:
            raise Unproved(f"The archive of {name} {number}: {problem.message}") from problem
        files = {path: unpacked.read(path) for path in unpacked.files}
        if unpacked.left_out or Source(files, commit=digest).digest != digest:
            raise Unproved(f"The files of {name} {number} are not those that were certified.")
        return archive

    async def _versions(self, name: str) -> list[Json]:
        """All of them, newest first, however many pages that are."""
        found: list[Json] = []
        cursor = ""
        while True:
            asked = f"?cursor={quote(cursor)}" if cursor else ""
            page = await self.registry.get(f"/api/v1/skills/{name}/versions{asked}")
            found += page["versions"]
            cursor = page["nextCursor"]
            if not cursor:
                return found

    async def _signed(self, path: str) -> Signed:
        async with self.registry.opened("GET", path, timeout=TIMEOUT) as answer:
            given = answer.headers.get("Assay-Signature", "")
            body = await read_bounded(answer, LARGEST_PAGE)
        found = SIGNATURE.fullmatch(given)
        if found is None:
            raise Unproved(f"{self.registry.base_url}{path} is not signed.")
        if found[1] not in self.keys:
            raise Unproved(
                f"{path} is signed with the key {found[1]}, which this mirror does not know. If the registry has told "
                f"you of it, go on with --trust {found[1]}."
            )
        if not is_signed(body, found[1], found[2], self.keys):
            raise Unproved(f"The signature of {path} does not hold.")
        return Signed(body, given)

    async def _bytes(self, path: str, at_most: int) -> bytes:
        async with self.registry.opened("GET", path, timeout=TIMEOUT) as answer:
            return await read_bounded(answer, at_most)


async def read_keys(registry: Registry) -> dict[str, str]:
    """The keys that the registry says are its own."""
    known = (await registry.get("/.well-known/assay/keys.json"))["keys"]
    return {str(key["id"]): str(key["publicKey"]) for key in known}


async def read_bounded(answer: Any, at_most: int) -> bytes:
    """The whole of an answer, which must not be longer than that."""
    parts, size = [], 0
    async for part in answer.content.iter_chunked(65_536):
        parts.append(part)
        size += len(part)
        if size > at_most:
            raise Unproved(f"{answer.url.path} is longer than {at_most} bytes.")
    return b"".join(parts)


def _content_of(hallmark: Json, keys: dict[str, str]) -> str | None:
    """The digest of the content that a hallmark is about, if one of these keys has signed it."""
    statement = open_hallmark(hallmark, keys)
    subjects = statement.get("subject") if statement else None
    if not isinstance(subjects, list) or not subjects:
        return None
    return f"sha256:{subjects[0]['digest']['sha256']}"
