"""Periodic jobs of deep scans: requeue scans with expired leases, and dispatch scans of unexamined content."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.scans.deep_scans import dispatch_missing, requeue_expired
from assay.store.scans.scan_nodes import list_nodes

RELEASE_JOB, DISPATCH_JOB = "give back deep scans", "dispatch deep scans"
# Listings per run: new tools and rules reach all content soon, without flooding the nodes.
BATCH_SIZE = 200


async def release_expired_scans(db: AsyncConnection, *, clock: Clock) -> int:
    """Requeue scans of dead nodes even if no node claims any; return their number."""
    return await requeue_expired(db, clock.now())


async def dispatch_unscanned(db: AsyncConnection, *, tools: Sequence[DeepTool], lease: timedelta, clock: Clock) -> int:
    """Dispatch the next listings that a tool of the live nodes has not examined; return the number of new scans."""
    versions: dict[str, list[str]] = {}
    for node in await list_nodes(db):
        if node.is_alive(clock.now(), lease):
            for tool, version in node.tools.items():
                versions.setdefault(tool, []).append(version)
    after = await read_position(db, DISPATCH_JOB)
    last, added = await dispatch_missing(db, after or "", tools, versions, BATCH_SIZE)
    await save_position(db, DISPATCH_JOB, last)
    return added
