"""Who gets which scans: nodes are registered, scans are given out under a lease, and come back when it ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.messages import DispatchedScan, NodeMessage, Work, checked_url
from assay.model.deep_scan import DeepScan, DeepTool
from assay.store.scans.deep_scans import Leased, claim, extend_leases, give_back_expired
from assay.store.scans.scan_nodes import ScanNode, see_node


async def register_node(db: AsyncConnection, said: NodeMessage, *, now: datetime, lease_seconds: float) -> int:
    """A node is there, and keeps the leases that it names; returns how many scans these are."""
    node = ScanNode(
        id=said.node_id,
        name=said.name,
        url=checked_url(said.url),
        capacity=said.capacity,
        in_flight=said.in_flight,
        tools={tool.value: version for tool, version in said.tools.items()},
        sandbox=said.sandbox,
        version=said.version,
        push_failures=0,
        seen_at=now,
    )
    await see_node(db, node)
    if not said.leases:
        return 0
    return await extend_leases(db, node.id, said.leases, now + timedelta(seconds=lease_seconds))


async def give_out(
    db: AsyncConnection, node_id: UUID, tool: DeepTool, *, at_most: int, now: datetime, lease_seconds: float
) -> Sequence[Leased]:
    """Scans of one tool, oldest first; what a silent node had is among them."""
    await give_back_expired(db, now)
    return await claim(db, node_id, tool, at_most=at_most, now=now, lease_seconds=lease_seconds)


def work_of(node_id: UUID, tool: DeepTool, given: Sequence[Leased]) -> Work:
    """What a node is told to do."""
    return Work(
        node_id=node_id,
        tool=tool,
        lease=given[0].lease if given else None,
        lease_expires_at=given[0].expires_at if given else None,
        scans=[dispatched(each.scan) for each in given],
    )


def dispatched(scan: DeepScan) -> DispatchedScan:
    """A scan that waits, or is given out."""
    return DispatchedScan(
        scan_id=scan.id,
        content_digest=scan.content_digest,
        commit=scan.commit,
        tool=scan.tool,
        attempts=scan.attempts,
        created_at=scan.created_at,
    )
