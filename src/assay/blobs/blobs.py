"""Contents by digest: one object holds the manifest of a skill folder and the bytes of all its files.

The object is named by the digest of its first line, the manifest, which lists the hash of every file, so every read is
verified. One object per content instead of one per file: most skills are a few small files, and object stores charge
per object. Objects are compressed, so that a small archive cannot fill the disk.
"""

import asyncio
import hashlib
import re
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from assay.model.errors import NotFound, Unavailable
from assay.model.source import FileEntry, Manifest, Source, digest_of

END_OF_MANIFEST = b"\n"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# The fastest level; higher ones save a tenth for two to three times the CPU.
COMPRESSION_LEVEL = 1
# A block of most file systems: compressing less saves nothing.
SMALL_BYTES = 4096
# The first byte of a manifest, and so of objects that are not compressed: small ones, and those of earlier releases.
UNCOMPRESSED = b"{"
# Far above the limits of a skill; a damaged object does not exhaust the memory.
LARGEST_PACKED_BYTES = 64 * 1024 * 1024
# Commits a record of a digest and of the bytes of its files, before they are stored.
Recorder = Callable[[str, int], Awaitable[None]]


@dataclass(frozen=True)
class Blobs:
    """A store of contents in a directory or an object store."""

    store: ObjectStore
    record: Recorder

    async def save(self, source: Source) -> str:
        """Store the files and return the content digest; idempotent.

        The record comes first, even if the object exists: it waits for a collector that is removing the object.
        """
        await self.record(source.digest, source.manifest.size_bytes)
        packed = b"".join([source.manifest.encode(), END_OF_MANIFEST, *_in_order(source)])
        # In a thread: obstore's own coroutines cost three times as much CPU for a small file.
        await asyncio.to_thread(self._put, path_of(source.digest), packed)
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

    def _put(self, path: str, packed: bytes) -> None:
        stored = packed if len(packed) <= SMALL_BYTES else zlib.compress(packed, COMPRESSION_LEVEL)
        with typed_errors():
            try:
                obstore.put(self.store, path, stored, mode="create")
            except AlreadyExistsError:
                return

    def _get(self, digest: str) -> bytes:
        with typed_errors():
            try:
                stored = bytes(obstore.get(self.store, path_of(digest)).bytes())
            except FileNotFoundError:
                raise NotFound(f"There is no content {digest}.", code="content_not_found") from None
        return stored if stored.startswith(UNCOMPRESSED) else _decompress(stored, digest)


@contextmanager
def typed_errors() -> Iterator[None]:
    """Convert errors of the object store to Unavailable."""
    try:
        yield
    except (BaseError, OSError) as error:
        raise Unavailable(f"The blob store does not answer: {error}", code="blobs_unavailable") from error


def path_of(digest: str) -> str:
    """Return the name of an object. Raises NotFound if this is not a digest."""
    if not DIGEST.fullmatch(digest):
        raise NotFound(f"{digest[:100]!r} is not a digest.", code="content_not_found")
    name = digest.removeprefix("sha256:")
    return f"{name[:2]}/{name[2:]}"


def unpack(packed: bytes, digest: str) -> Source:
    """Return the files of an object, verified; raises Unavailable if it is not the content of this digest."""
    manifest, start = _manifest_of(packed, digest)
    files = {}
    for entry, position in _positions(manifest, start):
        files[entry.path] = _checked(packed[position : position + entry.size], entry, digest)
    return Source(files, commit=digest)


def _decompress(stored: bytes, digest: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        packed = stream.decompress(stored, LARGEST_PACKED_BYTES)
    except zlib.error:
        raise _damaged(digest) from None
    if not stream.eof:
        raise _damaged(digest)
    return packed


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
