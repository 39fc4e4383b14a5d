"""The trash of the blob store: objects are moved there before they are deleted, so that a move can be undone.

Names in the trash are unique, so deleting one never deletes an object that another process has moved or saved.
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from secrets import token_hex

import obstore
from obstore.store import ObjectStore

from assay.blobs.blobs import DIGEST, path_of, typed_errors

TRASH = "trash"


async def move_to_trash(store: ObjectStore, digests: Iterable[str]) -> None:
    """Move objects to the trash; those that do not exist are skipped."""
    run = token_hex(8)
    moves = ((path_of(digest), f"{TRASH}/{digest.removeprefix('sha256:')}.{run}") for digest in digests)
    await asyncio.gather(*(asyncio.to_thread(_move, store, source, target) for source, target in moves))


async def list_trash(store: ObjectStore, at_most: int) -> list[tuple[str, str]]:
    """Return the digest and the name of objects in the trash."""
    names = await asyncio.to_thread(_list, store, at_most)
    digests = (f"sha256:{name.removeprefix(f'{TRASH}/').partition('.')[0]}" for name in names)
    return [(digest, name) for digest, name in zip(digests, names, strict=True) if DIGEST.fullmatch(digest)]


async def restore_from_trash(store: ObjectStore, digest: str, name: str) -> None:
    """Move an object back, unless it was saved again; then its copy in the trash is deleted."""
    await asyncio.to_thread(_restore, store, path_of(digest), name)


async def delete_from_trash(store: ObjectStore, names: Sequence[str]) -> None:
    """Delete objects for good."""
    if names:
        await asyncio.to_thread(_delete, store, names)


def _move(store: ObjectStore, source: str, target: str) -> None:
    with typed_errors():
        try:
            obstore.rename(store, source, target)
        except FileNotFoundError:
            return


def _list(store: ObjectStore, at_most: int) -> list[str]:
    with typed_errors():
        names = (entry["path"] for chunk in obstore.list(store, prefix=TRASH) for entry in chunk)
        return list(islice(names, at_most))


def _restore(store: ObjectStore, home: str, name: str) -> None:
    with typed_errors():
        try:
            obstore.head(store, home)
        except FileNotFoundError:
            _move(store, name, home)
        else:
            _delete(store, [name])


def _delete(store: ObjectStore, names: Sequence[str]) -> None:
    with typed_errors():
        try:
            obstore.delete(store, names)
        except FileNotFoundError:
            # A folder stops at a missing file; the next run deletes the rest.
            return
