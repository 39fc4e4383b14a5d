"""The page of security reports: what waits for an answer, and the form of the answer."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import get, post
from litestar.params import FromPath, QueryParameter, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.security_report import ReportOutcome
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.moderation.admin_reports import Answered, reports_page, resolve_as
from assay.web.operations.pages import FORM_BYTES

PAGE = 50


class AnswerForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What follows, and why."""

    outcome: ReportOutcome
    reason: Annotated[str, msgspec.Meta(min_length=3, max_length=1_000)]


@get("/admin/reports", opt=ADMIN, include_in_schema=False)
async def reports(
    assay: Assay,
    status: Annotated[Answered, QueryParameter()] = Answered.OPEN,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
) -> Template:
    """Open reports, oldest first, or those that were answered."""
    page = await reports_page(assay, status, None, None, PAGE, cursor)
    more = {"status": status.value, "cursor": page.next_cursor} if page.next_cursor else None
    context = {
        "page": page,
        "status": status,
        "statuses": list(Answered),
        "outcomes": list(ReportOutcome),
        "more": more,
    }
    return Template("moderation/reports.html", context=context)


@post("/admin/reports/{report_id:uuid}", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def resolve_report(
    assay: Assay, caller: CalledBy, report_id: FromPath[UUID], data: URLEncodedBody[AnswerForm]
) -> Redirect:
    """Answer it, then show what is left."""
    await resolve_as(assay, caller, report_id, data.outcome, data.reason)
    return Redirect("/admin/reports", status_code=HTTP_303_SEE_OTHER)
