"""Blobs without a database."""

from obstore.store import ObjectStore

from assay.blobs.blobs import Blobs


def unrecorded(store: ObjectStore) -> Blobs:
    """Return a blob store that records nothing and cannot be collected."""

    async def nothing(_digest: str, _size_bytes: int) -> None:
        return

    return Blobs(store, nothing)
