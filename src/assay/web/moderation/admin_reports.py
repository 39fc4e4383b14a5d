"""Security reports under control: what waits for an answer, and the answer."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.blocklist import Threat
from assay.model.security_report import ReportOutcome, SecurityReport
from assay.model.text import WITHOUT_NUL
from assay.moderation.report import resolve
from assay.moderation.withdraw import remark
from assay.serve.moderation.lists import ReportsPage, read_reports
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.submissions.json import LARGEST_REQUEST_BYTES, Body
from assay.web.versions.json import Why


class Answered(StrEnum):
    """Which reports are listed."""

    OPEN = "open"
    ANSWERED = "answered"


class ReportView(View, frozen=True):
    """A report with everything that administrators know; `reporter` is an account, or null."""

    id: UUID
    skill: str
    version: str
    content_digest: str
    category: Threat
    text: str
    reporter: str | None
    created_at: datetime
    outcome: ReportOutcome | None
    answer: str | None
    answered_by: str | None
    answered_at: datetime | None


class ReportsPageView(View, frozen=True):
    """A page of reports, oldest first."""

    reports: list[ReportView]
    next_cursor: str | None


class ResolveBody(Body, frozen=True):
    """What follows from the report, and why: everybody who reported the same version reads it."""

    outcome: ReportOutcome
    reason: Why


class ResolvedView(View, frozen=True):
    """The report, and the ids of all that were answered with it."""

    report: ReportView
    answered: list[UUID]


@get("/", summary="List security reports", responses=problems(400, 401, 403, 503))
async def list_reports(
    assay: Assay,
    status: Annotated[Answered | None, QueryParameter(description="Only those.")] = None,
    category: Annotated[Threat | None, QueryParameter(description="Only of this kind.")] = None,
    skill: Annotated[
        str | None, QueryParameter(max_length=300, pattern=WITHOUT_NUL, description="Only of this listing.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Rows on a page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")
    ] = None,
) -> ReportsPageView:
    """Oldest first."""
    page = await reports_page(assay, status, category, skill, limit, cursor)
    return ReportsPageView(reports=[_present(each) for each in page.reports], next_cursor=page.next_cursor)


@post(
    "/{report_id:str}/resolve",
    summary="Answer a security report",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def resolve_report(
    assay: Assay, caller: CalledBy, report_id: FromPath[UUID], data: JSONBody[ResolveBody]
) -> ResolvedView:
    """`withdrawn` takes the version back, `blocked` puts its bytes on the blocklist, `dismissed` does nothing."""
    told, answered = await resolve_as(assay, caller, report_id, data.outcome, data.reason)
    return ResolvedView(report=_present(told), answered=answered)


async def reports_page(
    assay: App,
    status: Answered | None,
    category: Threat | None,
    skill: str | None,
    limit: int,
    cursor: str | None,
) -> ReportsPage:
    """The same for the page."""
    is_open = None if status is None else status is Answered.OPEN
    async with assay.store.snapshot() as db:
        return await read_reports(db, is_open=is_open, category=category, skill_name=skill, limit=limit, cursor=cursor)


async def resolve_as(
    assay: App, caller: Caller, report_id: UUID, outcome: ReportOutcome, reason: str
) -> tuple[SecurityReport, list[UUID]]:
    """The same for the page."""
    why = remark("reported", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return await resolve(db, report_id, outcome, why)


def _present(told: SecurityReport) -> ReportView:
    return ReportView(
        id=told.id,
        skill=told.skill_name,
        version=told.version,
        content_digest=told.content_digest,
        category=told.category,
        text=told.text,
        reporter=told.reporter,
        created_at=told.created_at,
        outcome=told.outcome,
        answer=told.answer,
        answered_by=told.answered_by,
        answered_at=told.answered_at,
    )


router = Router("/api/v1/admin/reports", tags=["admin"], opt=ADMIN, route_handlers=[list_reports, resolve_report])
