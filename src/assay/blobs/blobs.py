"""Contents by digest: one object holds the manifest of a skill folder and the bytes of all its files.

The object is named by the digest of its first line, the manifest, which lists the hash of every file, so every read is
verified. One object per content instead of one per file: most skills are a few small files, and object stores charge
per object.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from assay.model.errors import NotFound, Unavailable
from assay.model.source import FileEntry, Manifest, Source, digest_of

END_OF_MANIFEST = b"\n"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Blobs:
    """A store of contents in a directory or an object store."""

    store: ObjectStore

    async def save(self, source: Source) -> str:
        """Store the files and return the content digest; idempotent."""
        packed = b"".join([source.manifest.encode(), END_OF_MANIFEST, *_in_order(source)])
        # In a thread: obstore's own coroutines cost three times as much CPU for a small file.
        await asyncio.to_thread(self._put, _path(source.digest), packed)
        return source.digest

    async def load(self, digest: str) -> Source:
        """Return all files, verified, with the digest as commit; raises NotFound if there is no such content."""
        return unpack(await self.packed(digest), digest)

    async def packed(self, digest: str) -> bytes:
        """Return the stored object unverified, for `unpack`; raises NotFound if there is no such content."""
        return await asyncio.to_thread(self._get, digest)

    async def read_file(self, digest: str, path: str) -> bytes:
        """Return one file, verified; raises NotFound if there is none."""
        source = await self.load(digest)
        if path not in source.files:
            raise NotFound(f"There is no {path} in {digest}.", code="file_not_found")
        return source.files[path]

    def _put(self, path: str, content: bytes) -> None:
        try:
            obstore.put(self.store, path, content, mode="create")
        except AlreadyExistsError:
            return
        except (BaseError, OSError) as error:
            raise Unavailable(f"The blob store does not answer: {error}", code="blobs_unavailable") from error

    def _get(self, digest: str) -> bytes:
        try:
            return bytes(obstore.get(self.store, _path(digest)).bytes())
        except FileNotFoundError:
            raise NotFound(f"There is no content {digest}.", code="content_not_found") from None
        except (BaseError, OSError) as error:
            raise Unavailable(f"The blob store does not answer: {error}", code="blobs_unavailable") from error


def unpack(packed: bytes, digest: str) -> Source:
    """Return the files of an object, verified; raises Unavailable if it is not the content of this digest."""
    manifest, start = _manifest_of(packed, digest)
    files = {}
    for entry, position in _positions(manifest, start):
        files[entry.path] = _checked(packed[position : position + entry.size], entry, digest)
    return Source(files, commit=digest)


def _in_order(source: Source) -> list[bytes]:
    return [source.files[entry.path] for entry in source.manifest.files]


def _manifest_of(packed: bytes, digest: str) -> tuple[Manifest, int]:
    """Return the manifest and the offset of the first file."""
    line, separator, _ = packed.partition(END_OF_MANIFEST)
    if not separator or digest_of(line) != digest:
        raise _damaged(digest)
    return msgspec.json.decode(line, type=Manifest), len(line) + len(separator)


def _positions(manifest: Manifest, start: int) -> Iterator[tuple[FileEntry, int]]:
    for entry in manifest.files:
        yield entry, start
        start += entry.size


def _checked(content: bytes, entry: FileEntry, digest: str) -> bytes:
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        raise _damaged(digest)
    return content


def _damaged(digest: str) -> Unavailable:
    return Unavailable(f"The stored content {digest} is damaged.", code="content_damaged")


def _path(digest: str) -> str:
    if not DIGEST.fullmatch(digest):
        raise NotFound(f"{digest[:100]!r} is not a digest.", code="content_not_found")
    name = digest.removeprefix("sha256:")
    return f"{name[:2]}/{name[2:]}"
