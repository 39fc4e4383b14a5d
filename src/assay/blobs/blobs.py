"""Content-addressed blobs: what was put in comes out, or an error."""

import asyncio
from dataclasses import dataclass

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from assay.model.errors import NotFound, Unavailable
from assay.model.settle import settle
from assay.model.source import Manifest, Source, digest_of

AT_ONCE = 8


@dataclass(frozen=True)
class Blobs:
    """A store in which every object is named by the hash of its bytes."""

    store: ObjectStore

    async def put(self, content: bytes) -> str:
        """Idempotent; returns the digest."""
        digest = digest_of(content)
        try:
            await obstore.put_async(self.store, _path(digest), content, mode="create")
        except AlreadyExistsError:
            return digest
        except (BaseError, OSError) as problem:
            raise Unavailable(f"The blob store does not answer: {problem}", code="blobs_unavailable") from problem
        return digest

    async def get(self, digest: str) -> bytes:
        """The bytes of a digest, checked; NotFound if there are none."""
        try:
            answer = await obstore.get_async(self.store, _path(digest))
            content = bytes(await answer.bytes_async())
        except FileNotFoundError:
            raise NotFound(f"There is no blob {digest}.", code="blob_not_found") from None
        except (BaseError, OSError) as problem:
            raise Unavailable(f"The blob store does not answer: {problem}", code="blobs_unavailable") from problem
        if digest_of(content) != digest:
            raise Unavailable(f"The blob {digest} is damaged.", code="blob_damaged")
        return content


async def save_source(blobs: Blobs, source: Source) -> str:
    """Keep every file and the manifest, whose digest names the whole."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def save(content: bytes) -> None:
        async with gate:
            await blobs.put(content)

    await settle(save(content) for content in source.files.values())
    return await blobs.put(source.manifest.encode())


async def load_source(blobs: Blobs, digest: str) -> Source:
    """The files behind a digest; an upload is its own commit."""
    manifest = msgspec.json.decode(await blobs.get(digest), type=Manifest)
    files = {entry.path: await blobs.get(f"sha256:{entry.sha256}") for entry in manifest.files}
    return Source(files, commit=digest)


def _path(digest: str) -> str:
    name = digest.removeprefix("sha256:")
    return f"{name[:2]}/{name[2:]}"
