"""The mirrored registry; every response is verified before it is used."""

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
# A listing includes this many versions; the rest is paginated.
SHOWN_VERSIONS = 100
MAX_PAGE_BYTES, MAX_ARCHIVE_BYTES = 64 * MIB, 32 * MIB


class VerificationFailed(Conflict):
    """A response does not match what the registry has signed."""

    code = "unproved"


@dataclass(frozen=True)
class SignedResponse:
    """A response with a valid signature."""

    body: bytes
    signature: str

    @property
    def document(self) -> Json:
        document: Json = msgspec.json.decode(self.body)
        return document


@dataclass(frozen=True)
class Upstream:
    """A registry and its trusted keys."""

    registry: Registry
    keys: dict[str, str]

    async def page(self, since: int, limit: int) -> SignedResponse:
        """Return the changes after a serial."""
        return await self._signed(f"/api/v1/changes?since={since}&limit={limit}")

    async def blocklist(self) -> SignedResponse:
        return await self._signed("/api/v1/blocklist")

    async def skill(self, name: str) -> Json:
        """Return a listing with all its versions. Raises NotFound, or Gone with the reason."""
        listing: Json = await self.registry.get(f"/api/v1/skills/{name}")
        if len(listing["versions"]) >= SHOWN_VERSIONS:
            listing["versions"] = await self._versions(listing["skill"]["name"])
        return listing

    async def content(self, name: str, version: Json) -> bytes:
        """Return the archive of a version after verifying that it has exactly the files in its hallmark."""
        digest, number = str(version["contentDigest"]), str(version["version"])
        if not DIGEST.fullmatch(digest) or _content_of(version["hallmark"], self.keys) != digest:
            raise VerificationFailed(f"The hallmark of {name} {number} is not valid.")
        archive = await self._bytes(
            f"/api/v1/skills/{name}/versions/{number}/download?format=tar.gz", MAX_ARCHIVE_BYTES
        )
        try:
            unpacked = unpack_tar(io.BytesIO(archive), Limits(), strip_root=True)
        except Invalid as problem:
            raise VerificationFailed(f"The archive of {name} {number}: {problem.message}") from problem
        files = {path: unpacked.read(path) for path in unpacked.files}
        if unpacked.left_out or Source(files, commit=digest).digest != digest:
            raise VerificationFailed(f"The files of {name} {number} differ from those in its hallmark.")
        return archive

    async def _versions(self, name: str) -> list[Json]:
        """Return the versions of all pages, the newest first."""
        found: list[Json] = []
        cursor = ""
        while True:
            query = f"?cursor={quote(cursor)}" if cursor else ""
            page = await self.registry.get(f"/api/v1/skills/{name}/versions{query}")
            found += page["versions"]
            cursor = page["nextCursor"]
            if not cursor:
                return found

    async def _signed(self, path: str) -> SignedResponse:
        async with self.registry.open_response("GET", path, timeout=TIMEOUT) as response:
            signature = response.headers.get("Assay-Signature", "")
            body = await read_bounded(response, MAX_PAGE_BYTES)
        found = SIGNATURE.fullmatch(signature)
        if found is None:
            raise VerificationFailed(f"{self.registry.base_url}{path} is not signed.")
        if found[1] not in self.keys:
            raise VerificationFailed(
                f"{path} is signed with the key {found[1]}, which this mirror does not trust. If the operator of the "
                f"registry has announced this key, run the command again with --trust {found[1]}."
            )
        if not is_signed(body, found[1], found[2], self.keys):
            raise VerificationFailed(f"The signature of {path} is not valid.")
        return SignedResponse(body, signature)

    async def _bytes(self, path: str, at_most: int) -> bytes:
        async with self.registry.open_response("GET", path, timeout=TIMEOUT) as response:
            return await read_bounded(response, at_most)


async def fetch_keys(registry: Registry) -> dict[str, str]:
    """Return the keys that the registry publishes, by id."""
    known = (await registry.get("/.well-known/assay/keys.json"))["keys"]
    return {str(key["id"]): str(key["publicKey"]) for key in known}


async def read_bounded(response: Any, at_most: int) -> bytes:
    """Return the body of a response. Raises VerificationFailed if it exceeds the limit."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        parts.append(part)
        size += len(part)
        if size > at_most:
            raise VerificationFailed(f"{response.url.path} is longer than {at_most:,} bytes.")
    return b"".join(parts)


def _content_of(hallmark: Json, keys: dict[str, str]) -> str | None:
    """Return the digest in a hallmark; None if no trusted key has signed it."""
    statement = open_hallmark(hallmark, keys)
    subjects = statement.get("subject") if statement else None
    if not isinstance(subjects, list) or not subjects:
        return None
    return f"sha256:{subjects[0]['digest']['sha256']}"
