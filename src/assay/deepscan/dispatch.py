"""Registration of scan nodes, and leases of scans to them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.messages import DispatchedScan, NodeMessage, ScanBatch, checked_url
from assay.model.deep_scan import DeepScan, DeepTool
from assay.store.scans.deep_scans import LeasedScan, claim_scans, extend_leases, requeue_expired
from assay.store.scans.scan_nodes import ScanNode, record_node


async def register_node(db: AsyncConnection, message: NodeMessage, *, now: datetime, lease_seconds: float) -> int:
    """Record a node and extend the leases that it names; return the number of scans under them."""
    node = ScanNode(
        id=message.node_id,
        name=message.name,
        url=checked_url(message.url),
        capacity=message.capacity,
        in_flight=message.in_flight,
        tools={tool.value: version for tool, version in message.tools.items()},
        sandbox=message.sandbox,
        version=message.version,
        push_failures=0,
        seen_at=now,
    )
    await record_node(db, node)
    if not message.leases:
        return 0
    return await extend_leases(db, node.id, message.leases, now + timedelta(seconds=lease_seconds))


async def lease_scans(
    db: AsyncConnection, node_id: UUID, tool: DeepTool, *, at_most: int, now: datetime, lease_seconds: float
) -> Sequence[LeasedScan]:
    """Lease the oldest scans of one tool to a node, including those whose lease has expired."""
    await requeue_expired(db, now)
    return await claim_scans(db, node_id, tool, at_most=at_most, now=now, lease_seconds=lease_seconds)


def batch_message(node_id: UUID, tool: DeepTool, leased: Sequence[LeasedScan]) -> ScanBatch:
    return ScanBatch(
        node_id=node_id,
        tool=tool,
        lease=leased[0].lease if leased else None,
        lease_expires_at=leased[0].expires_at if leased else None,
        scans=[scan_message(each.scan) for each in leased],
    )


def scan_message(scan: DeepScan) -> DispatchedScan:
    return DispatchedScan(
        scan_id=scan.id,
        content_digest=scan.content_digest,
        commit=scan.commit,
        tool=scan.tool,
        attempts=scan.attempts,
        created_at=scan.created_at,
    )
