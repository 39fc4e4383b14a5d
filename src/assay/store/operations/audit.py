"""Audit events: an append-only record of administrative actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import audit_event


@dataclass(frozen=True, slots=True)
class AuditEvent:
    id: int
    actor: str
    action: str
    subject: str
    detail: Mapping[str, object]
    created_at: datetime


async def record_audit(
    db: AsyncConnection,
    caller_name: str,
    action: str,
    subject: str,
    detail: Mapping[str, object] | None = None,
) -> None:
    """Add an event, in the transaction of the action it records."""
    values = {"actor": caller_name, "action": action, "subject": subject, "detail": dict(detail or {})}
    await db.execute(insert(audit_event).values(values))


async def list_audit(db: AsyncConnection, before: int | None, limit: int) -> list[AuditEvent]:
    """Return a page of events, newest first, with ids below `before`."""
    statement = select(
        audit_event.c.id,
        audit_event.c.actor,
        audit_event.c.action,
        audit_event.c.subject,
        audit_event.c.detail,
        audit_event.c.created_at,
    )
    if before is not None:
        statement = statement.where(audit_event.c.id < before)
    return [AuditEvent(*row) for row in await db.execute(statement.order_by(audit_event.c.id.desc()).limit(limit))]
