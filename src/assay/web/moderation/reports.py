"""Security reports: sending one, reading its receipt, and the admin routes that list and resolve them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Request, Router, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.blocklist import Threat
from assay.model.moderation import MAX_STATEMENT_LENGTH, MIN_STATEMENT_LENGTH, ReportOutcome, SecurityReport
from assay.model.text import WITHOUT_NUL
from assay.moderation.report import NewReport, ReportLimits, file_report
from assay.moderation.report import resolve_report as apply_resolution
from assay.moderation.withdraw import status_reason
from assay.serve.moderation.lists import ReportsPage, read_reports
from assay.serve.skills.catalogue import find_any_listing
from assay.store.moderation.security_reports import get_report
from assay.web.http.access import PUBLIC, REVIEWER, SUBMITTING
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES, Body, View
from assay.web.http.limits import address_of
from assay.web.versions.json import PublicReason
from assay.web.versions.naming import name_in_path

Version = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=WITHOUT_NUL)]


class ReportBody(Body, frozen=True):
    """A description of the problem. It concerns the live version unless `version` is set."""

    category: Threat
    text: Annotated[str, msgspec.Meta(min_length=MIN_STATEMENT_LENGTH, max_length=MAX_STATEMENT_LENGTH)]
    version: Version | None = None


class ReceiptView(View, frozen=True):
    """The status of a report, readable by anyone who has its id. It does not reveal the text or the reporter."""

    id: UUID
    skill: str
    version: str
    category: Threat
    status: Annotated[str, msgspec.Meta(description="`open` until the report is answered, then its outcome.")]
    outcome: ReportOutcome | None
    answer: str | None
    created_at: datetime
    answered_at: datetime | None


@post(
    "/{owner:str}/{repo:str}/{skill:str}/reports",
    summary="Report a security problem",
    opt=SUBMITTING,
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 404, 413, 415, 429, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def report_skill(
    assay: Assay,
    caller: CalledBy,
    request: Request[Any, Any, Any],
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    data: JSONBody[ReportBody],
) -> ReceiptView:
    """Report a listing as harmful. Only reviewers see the report; keep the id to read their answer.

    By default limited to 20 reports a day for an account, and 5 a day for an IP address without one. A listing also has
    a limit of open reports without an account, which never applies to signed-in callers.
    """
    message = NewReport(data.category, data.text, data.version, address_of(request))
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, name_in_path(owner, repo, skill))
        return present_receipt(await file_report(db, listing, message, caller, report_limits(assay), assay.clock))


@get(
    "/api/v1/reports/{report_id:str}",
    summary="Get the status of a report",
    tags=["skills"],
    opt=PUBLIC,
    responses=problems(400, 404, 503),
)
async def get_report_status(assay: Assay, report_id: FromPath[UUID]) -> ReceiptView:
    """Return the status and the answer of a report, by the id that was returned when it was sent."""
    async with assay.store.snapshot() as db:
        return present_receipt(await get_report(db, report_id))


def report_limits(assay: App) -> ReportLimits:
    """Return the limits in the settings, for the API and the form."""
    settings = assay.settings
    per_day = settings.limit_reports, settings.limit_reports_anonymous
    return ReportLimits(*per_day, open_anonymous=settings.limit_open_reports_anonymous)


def present_receipt(report: SecurityReport) -> ReceiptView:
    return ReceiptView(
        id=report.id,
        skill=report.skill_name,
        version=report.version,
        category=report.category,
        status=report.outcome or "open",
        outcome=report.outcome,
        answer=report.answer,
        created_at=report.created_at,
        answered_at=report.answered_at,
    )


class ReportStatus(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"


class SecurityReportView(View, frozen=True):
    """A security report as administrators see it. `reporter` is an account, or null if the report was anonymous."""

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
    """A page of reports: those of accounts first, then oldest first."""

    reports: list[SecurityReportView]
    next_cursor: str | None


class ResolveBody(Body, frozen=True):
    """The outcome of the report, and the answer that everyone who reported the same version can read."""

    outcome: ReportOutcome
    reason: PublicReason


class ResolvedView(View, frozen=True):
    """The report, and the ids of all reports that were answered with it."""

    report: SecurityReportView
    answered: list[UUID]


@get("/", summary="List security reports", responses=problems(400, 401, 403, 503))
async def list_reports(
    assay: Assay,
    status: Annotated[ReportStatus | None, QueryParameter(description="Only open or only answered reports.")] = None,
    category: Annotated[Threat | None, QueryParameter(description="Only reports of this category.")] = None,
    skill: Annotated[
        str | None, QueryParameter(max_length=300, pattern=WITHOUT_NUL, description="Only reports about this listing.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="The maximum number of rows per page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="The `nextCursor` of the previous page.")
    ] = None,
) -> ReportsPageView:
    """List security reports: those of accounts first, then oldest first."""
    page = await load_reports(assay, status, category, skill, limit, cursor)
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
    """Answer a report and act on it.

    `withdrawn` withdraws the version, `blocked` adds its content to the blocklist, and `dismissed` changes nothing.
    """
    report, answered = await resolve_as(assay, caller, report_id, data.outcome, data.reason)
    return ResolvedView(report=_present(report), answered=answered)


async def load_reports(
    assay: App,
    status: ReportStatus | None,
    category: Threat | None,
    skill: str | None,
    limit: int,
    cursor: str | None,
) -> ReportsPage:
    """Read a page of reports, for the API and the admin page."""
    is_open = None if status is None else status is ReportStatus.OPEN
    async with assay.store.snapshot() as db:
        return await read_reports(db, is_open=is_open, category=category, skill_name=skill, limit=limit, cursor=cursor)


async def resolve_as(
    assay: App, caller: Caller, report_id: UUID, outcome: ReportOutcome, reason: str
) -> tuple[SecurityReport, list[UUID]]:
    """Resolve a report as this caller, for the API and the admin page."""
    why = status_reason("reported", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return await apply_resolution(db, report_id, outcome, why)


def _present(report: SecurityReport) -> SecurityReportView:
    return SecurityReportView(
        id=report.id,
        skill=report.skill_name,
        version=report.version,
        content_digest=report.content_digest,
        category=report.category,
        text=report.text,
        reporter=report.reporter,
        created_at=report.created_at,
        outcome=report.outcome,
        answer=report.answer,
        answered_by=report.answered_by,
        answered_at=report.answered_at,
    )


router = Router("/api/v1/admin/reports", tags=["admin"], opt=REVIEWER, route_handlers=[list_reports, resolve_report])
