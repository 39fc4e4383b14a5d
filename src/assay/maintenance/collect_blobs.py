"""Collection of unused blobs while the registry runs.

A blob is moved to the trash in the transaction that deletes its row, and deleted by the next run. Only a commit proves
that the row was locked all the time; if there is none, for whatever reason, the row is still there and the next run
moves the blob back. docs/decisions/0049 goes through the races.
"""

from datetime import timedelta
from time import monotonic

import structlog
from obstore.store import ObjectStore
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.inventory import SHARDS, list_shard, require_owner
from assay.blobs.trash import delete_from_trash, list_trash, move_to_trash, restore_from_trash
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.scans.stored_blobs import (
    CHUNK,
    add_unknown_blobs,
    delete_unused_blobs,
    find_recorded,
    mark_unused_blobs,
    read_registry_id,
)

log = structlog.get_logger()
COLLECT_BLOBS = "collect blobs"
FIND_UNKNOWN_BLOBS = "find unknown blobs"
# Longer than any submission is processed (ASSAY_STUCK_SECONDS is at most a day), and than a backup takes.
UNUSED_FOR = timedelta(hours=24)
# Saving one of the moved blobs waits for the run, so runs are short.
MOVE_SECONDS = 2.0
MAX_MOVED = 20 * CHUNK


async def collect_blobs(db: AsyncConnection, *, store: ObjectStore, unused_for: timedelta = UNUSED_FOR) -> int:
    """Mark unused blobs, and move those to the trash that have been unused for a day; return the number moved."""
    await require_owner(store, await read_registry_id(db))
    await _empty_trash(db, store)
    moved, size_bytes = await _move_unused(db, store, unused_for)
    await save_position(db, COLLECT_BLOBS, await mark_unused_blobs(db, await read_position(db, COLLECT_BLOBS)))
    if moved:
        log.info("Collected unused blobs", number=moved, size_bytes=size_bytes)
    return moved


async def find_unknown_blobs(db: AsyncConnection, *, store: ObjectStore) -> int:
    """Record the blobs of the next shard that are not recorded, so that they can be collected; return their number.

    They are left by workers that stalled for days, by other releases, and by a database restored from a backup.
    """
    await require_owner(store, await read_registry_id(db))
    shard = await read_position(db, FIND_UNKNOWN_BLOBS) or SHARDS[0]
    added = await add_unknown_blobs(db, await list_shard(store, shard))
    await save_position(db, FIND_UNKNOWN_BLOBS, SHARDS[(SHARDS.index(shard) + 1) % len(SHARDS)])
    if added:
        log.info("Recorded unknown blobs", number=added, shard=shard)
    return added


async def _empty_trash(db: AsyncConnection, store: ObjectStore) -> None:
    """Delete the blobs that earlier runs moved, and restore those of runs that did not commit."""
    trash = await list_trash(store, at_most=2 * MAX_MOVED)
    recorded = await find_recorded(db, [digest for digest, _ in trash])
    for digest, name in trash:
        if digest in recorded:
            log.warning("Restored a blob", digest=digest)
            await restore_from_trash(store, digest, name)
    await delete_from_trash(store, [name for digest, name in trash if digest not in recorded])


async def _move_unused(db: AsyncConnection, store: ObjectStore, unused_for: timedelta) -> tuple[int, int]:
    """Move unused blobs to the trash for some seconds; return their number and the bytes of their files."""
    started, moved, size_bytes = monotonic(), 0, 0
    while moved < MAX_MOVED and monotonic() - started < MOVE_SECONDS:
        unused = await delete_unused_blobs(db, unused_for)
        await move_to_trash(store, unused.sizes)
        moved, size_bytes = moved + len(unused.sizes), size_bytes + sum(unused.sizes.values())
        if unused.is_last:
            break
    return moved, size_bytes
