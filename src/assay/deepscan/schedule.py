"""What recurs for deep scans: silent nodes lose theirs, and what no tool of now has looked at is dispatched."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.serve.scans.scan_nodes import is_node_alive
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.scans.deep_scans import dispatch_missing, give_back_expired
from assay.store.scans.scan_nodes import list_nodes

GIVE_BACK, CATCH_UP = "give back deep scans", "dispatch deep scans"
# Listings a turn: new tools and new rules reach what is published before long, and nobody is flooded.
AT_ONCE = 200


async def give_back_silent(db: AsyncConnection, *, clock: Clock) -> int:
    """Also if nobody asks for scans: what a dead node had is seen to wait. Returns how many scans these are."""
    return await give_back_expired(db, clock.now())


async def catch_up(db: AsyncConnection, *, tools: Sequence[DeepTool], lease: timedelta, clock: Clock) -> int:
    """The next listings that a tool of the live nodes has not looked at; returns how many scans wait now."""
    versions: dict[str, list[str]] = {}
    for node in await list_nodes(db):
        if is_node_alive(node, clock.now(), lease):
            for tool, version in node.tools.items():
                versions.setdefault(tool, []).append(version)
    after = await read_position(db, CATCH_UP)
    last, added = await dispatch_missing(db, after or "", tools, versions, AT_ONCE)
    await save_position(db, CATCH_UP, last)
    return added
