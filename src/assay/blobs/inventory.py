"""The objects of one shard of the blob store, and the registry to which the store belongs."""

import asyncio
import re
from uuid import UUID

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore

from assay.blobs.blobs import typed_errors
from assay.model.errors import Unavailable

# Objects are spread over shards by the first two digits of their digests.
SHARDS = tuple(f"{number:02x}" for number in range(256))
OBJECT = re.compile(r"([0-9a-f]{2})/([0-9a-f]{62})")
# The object that names the registry.
OWNER = "registry"


async def list_shard(store: ObjectStore, shard: str) -> dict[str, int]:
    """Return the digests of all objects in a shard, with their stored sizes in bytes."""
    return await asyncio.to_thread(_list_shard, store, shard)


async def require_owner(store: ObjectStore, registry: UUID) -> None:
    """Raise Unavailable if the blob store belongs to another registry; one without an owner is taken."""
    owner = await asyncio.to_thread(_owner, store, str(registry).encode())
    if owner != str(registry).encode():
        raise Unavailable(
            f"The blob store belongs to another registry, so nothing in it is deleted. If that is wrong, delete the"
            f" object {OWNER!r} from it.",
            code="blobs_of_another_registry",
        )


def _list_shard(store: ObjectStore, shard: str) -> dict[str, int]:
    with typed_errors():
        entries = [entry for chunk in obstore.list(store, prefix=shard) for entry in chunk]
    found = ((OBJECT.fullmatch(entry["path"]), entry["size"]) for entry in entries)
    return {f"sha256:{match[1]}{match[2]}": size for match, size in found if match}


def _owner(store: ObjectStore, registry: bytes) -> bytes:
    """Return the owner of the store, after taking one that has none."""
    with typed_errors():
        try:
            return bytes(obstore.get(store, OWNER).bytes())
        except FileNotFoundError:
            pass
        try:
            obstore.put(store, OWNER, registry, mode="create")
        except AlreadyExistsError:
            return bytes(obstore.get(store, OWNER).bytes())
        return registry
