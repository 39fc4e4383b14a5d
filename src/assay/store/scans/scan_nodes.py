"""Scan nodes, which run the external tools."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import scan_node

MAX_LISTED = 500


@dataclass(frozen=True, slots=True)
class ScanNode:
    """A scan node. `url` is set if it accepts pushed scans."""

    id: UUID
    name: str
    url: str | None
    capacity: int
    in_flight: int
    tools: Mapping[str, str]
    sandbox: Mapping[str, str]
    version: str
    push_failures: int
    seen_at: datetime

    @property
    def room(self) -> int:
        """Number of further scans that the node can accept."""
        return max(0, self.capacity - self.in_flight)

    def is_alive(self, now: datetime, lease: timedelta) -> bool:
        """Return whether it was seen recently enough to keep its scans."""
        return now - self.seen_at <= lease


COLUMNS = tuple(scan_node.c[each.name] for each in fields(ScanNode))


async def record_node(db: AsyncConnection, node: ScanNode) -> None:
    """Record a heartbeat. Does not change the count of failed pushes, which the registry maintains."""
    values: dict[str, Any] = {
        "name": node.name,
        "url": node.url,
        "capacity": node.capacity,
        "in_flight": node.in_flight,
        "tools": dict(node.tools),
        "sandbox": dict(node.sandbox),
        "version": node.version,
        "seen_at": node.seen_at,
    }
    statement = upsert(scan_node).values(id=node.id, started_at=node.seen_at, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def list_nodes(db: AsyncConnection) -> list[ScanNode]:
    """Return all known nodes, last seen first."""
    statement = select(*COLUMNS).order_by(scan_node.c.seen_at.desc(), scan_node.c.id).limit(MAX_LISTED)
    return [ScanNode(*row) for row in await db.execute(statement)]


async def record_push(db: AsyncConnection, node_id: UUID, *, pushed: int) -> None:
    """Record a push: the number of scans accepted, or 0 if it failed."""
    updated = update(scan_node).where(scan_node.c.id == node_id)
    if pushed:
        await db.execute(updated.values(in_flight=scan_node.c.in_flight + pushed))
    else:
        await db.execute(updated.values(push_failures=scan_node.c.push_failures + 1))


async def remove_node(db: AsyncConnection, node_id: UUID) -> bool:
    """Remove a node that is shutting down; False if it is not known."""
    return (await db.execute(delete(scan_node).where(scan_node.c.id == node_id))).rowcount == 1
