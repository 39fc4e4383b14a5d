"""`GET /api/v1/admin/audit`: the audit log."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from assay.serve.operations.audit import read_audit
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay
from assay.web.http.errors import problems
from assay.web.http.json import View


class AuditEventView(View, frozen=True):
    """An audit event: `actor` performed `action` on `subject`."""

    id: int
    actor: str
    action: str
    subject: str
    detail: dict[str, object]
    created_at: datetime


class AuditView(View, frozen=True):
    """A page of audit events, newest first."""

    events: list[AuditEventView]
    next_cursor: str | None


@get(
    "/api/v1/admin/audit",
    summary="List audit events",
    tags=["admin"],
    opt=ADMIN,
    responses=problems(400, 401, 403, 503),
)
async def audit(
    assay: Assay,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="The `nextCursor` of the previous page.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="The maximum number of entries per page.")] = 50,
) -> AuditView:
    """List sign-ins, account changes and administrative actions, newest first. Events are never deleted."""
    async with assay.store.snapshot() as db:
        page = await read_audit(db, cursor=cursor, limit=limit)
    return msgspec.convert(page, AuditView, from_attributes=True)
