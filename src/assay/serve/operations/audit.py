"""Pages of audit events."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.store.operations.audit import AuditEvent, list_audit

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class AuditPage:
    """Events, newest first."""

    events: list[AuditEvent]
    next_cursor: str | None


async def read_audit(db: AsyncConnection, *, cursor: str | None, limit: int) -> AuditPage:
    events = await list_audit(db, _position(cursor), limit + 1)
    page = events[:limit]
    return AuditPage(page, str(page[-1].id) if len(events) > limit else None)


def _position(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and int(cursor) <= LARGEST_ID):
        raise Invalid("cursor: use the `nextCursor` of a previous page.", code="bad_cursor")
    return int(cursor)
