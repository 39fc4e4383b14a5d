"""`GET /api/v1/admin/audit`: who did what."""

from datetime import datetime
from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from assay.serve.operations.audit import read_audit
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay
from assay.web.http.json import View
from assay.web.http.problems import problems


class AuditEventView(View, frozen=True):
    """One entry: `actor` did `action` to `subject`."""

    id: int
    actor: str
    action: str
    subject: str
    detail: dict[str, object]
    created_at: datetime


class AuditView(View, frozen=True):
    """A page of the trail, newest first."""

    events: list[AuditEventView]
    next_cursor: str | None


@get("/api/v1/admin/audit", summary="Who did what", tags=["admin"], opt=ADMIN, responses=problems(400, 401, 403, 503))
async def audit(
    assay: Assay,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="Entries on a page.")] = 50,
) -> AuditView:
    """Sign-ins, changes of accounts, and everything that administrators do; nothing is ever removed."""
    async with assay.store.snapshot() as db:
        page = await read_audit(db, cursor=cursor, limit=limit)
    events = [
        AuditEventView(
            id=each.id,
            actor=each.actor,
            action=each.action,
            subject=each.subject,
            detail=dict(each.detail),
            created_at=each.created_at,
        )
        for each in page.events
    ]
    return AuditView(events=events, next_cursor=page.next_cursor)
