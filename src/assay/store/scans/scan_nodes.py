"""Scan nodes: who runs the external tools, and when each was last seen."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import scan_node

SHOWN = 500


@dataclass(frozen=True, slots=True)
class ScanNode:
    """One node. `url` is where it takes what is pushed to it."""

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
        """How many scans it can take."""
        return max(0, self.capacity - self.in_flight)


COLUMNS = tuple(scan_node.c[each.name] for each in fields(ScanNode))


async def see_node(db: AsyncConnection, node: ScanNode) -> None:
    """Write down that it is there; how often a push to it failed is ours to count."""
    told: dict[str, Any] = {
        "name": node.name,
        "url": node.url,
        "capacity": node.capacity,
        "in_flight": node.in_flight,
        "tools": dict(node.tools),
        "sandbox": dict(node.sandbox),
        "version": node.version,
        "seen_at": node.seen_at,
    }
    statement = upsert(scan_node).values(id=node.id, started_at=node.seen_at, **told)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=told))


async def list_nodes(db: AsyncConnection) -> list[ScanNode]:
    """All that are known, the last seen first."""
    statement = select(*COLUMNS).order_by(scan_node.c.seen_at.desc(), scan_node.c.id).limit(SHOWN)
    return [ScanNode(*row) for row in await db.execute(statement)]


async def count_push(db: AsyncConnection, node_id: UUID, *, pushed: int) -> None:
    """Note a push: with something, the node has that much more; with nothing, it failed."""
    ours = update(scan_node).where(scan_node.c.id == node_id)
    if pushed:
        await db.execute(ours.values(in_flight=scan_node.c.in_flight + pushed))
    else:
        await db.execute(ours.values(push_failures=scan_node.c.push_failures + 1))


async def forget_node(db: AsyncConnection, node_id: UUID) -> bool:
    """One that has said goodbye; False if it is not known."""
    return (await db.execute(delete(scan_node).where(scan_node.c.id == node_id))).rowcount == 1
