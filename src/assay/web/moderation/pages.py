"""Pages and forms of moderation: reviews, reports, appeals and rescans."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, QueryParameter, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.blocklist import Threat
from assay.model.moderation import MAX_STATEMENT_LENGTH, ReportOutcome, SuppressionScope
from assay.model.submission import State
from assay.moderation.appeal import file_appeal
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.moderation.report import NewReport, file_report
from assay.moderation.rescan import request_rescan
from assay.moderation.suppress import SuppressionRequest
from assay.serve.skills.catalogue import find_any_listing
from assay.store.moderation.security_reports import get_report
from assay.web.findings.scans import newest_scan
from assay.web.http.access import ACCOUNT, OWNER, PUBLIC, REVIEWER, SUBMITTING
from assay.web.http.context import Assay, CalledBy, RequestedName
from assay.web.http.limits import LimitClass, address_of, rate_limit
from assay.web.http.links import repository_url
from assay.web.http.parameters import FormRequest, Params, parameters, requested_fields
from assay.web.http.templates import REVIEW_REASONS
from assay.web.moderation.query import ReviewListParameters
from assay.web.moderation.reports import ReportStatus, load_reports, report_limits, resolve_as
from assay.web.moderation.reviews import approve_as, load_review, load_reviews, reject_as
from assay.web.moderation.suppressions import suppress_as
from assay.web.queue.pages import FORM_BYTES
from assay.web.versions.naming import BY_NAME

PAGE = 50
DEFAULT_DAYS = 90
# A character of a statement takes up to twelve bytes in a form.
STATEMENT_FORM_BYTES = 12 * MAX_STATEMENT_LENGTH + 1_000
ModerationReason = Annotated[str, msgspec.Meta(min_length=3, max_length=1_000)]
# Forms send each line break as two characters; the length is checked again after normalisation.
Statement = Annotated[str, msgspec.Meta(max_length=2 * MAX_STATEMENT_LENGTH)]


class ReviewAction(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


class DecisionForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: ModerationReason
    version: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class SuppressForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    file: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    scope: SuppressionScope
    days: Annotated[int, msgspec.Meta(ge=1, le=365)]
    reason: ModerationReason


@get(
    "/admin/reviews",
    opt=REVIEWER,
    dependencies=parameters(ReviewListParameters),
    request_class=FormRequest,
    include_in_schema=False,
)
async def reviews(
    assay: Assay,
    request: Request[Any, Any, Any],
    params: Params[ReviewListParameters],
) -> Template:
    """Render the review queue, oldest first."""
    page = await load_reviews(assay, params)
    fields = requested_fields(request, "cursor")
    filters = {name: value for name, value in fields.items() if value}
    more = {**filters, "cursor": page.next_cursor} if page.next_cursor else None
    context = {"page": page, "params": fields, "reasons": REVIEW_REASONS, "more": more}
    return Template("moderation/reviews.html", context=context)


@get("/admin/reviews/{submission_id:uuid}", opt=REVIEWER, include_in_schema=False)
async def review(assay: Assay, submission_id: FromPath[UUID]) -> Template:
    found, changes = await load_review(assay, submission_id)
    context = {
        "review": found,
        "submission": found.submission,
        "changes": changes,
        "is_open": found.submission.state in OPEN_TO_REVIEW,
        "can_reject": found.submission.state is State.NEEDS_REVIEW,
        "judgement": newest_scan(found.detail.scans, 2),
        "scopes": list(SuppressionScope),
        "default_days": DEFAULT_DAYS,
        "repo_url": repository_url(found.submission.repository.name, assay.settings.github_web_url),
    }
    return Template("moderation/review.html", context=context)


@post(
    "/admin/reviews/{submission_id:uuid}/{action:str}",
    opt=REVIEWER,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def decide(
    assay: Assay,
    caller: CalledBy,
    submission_id: FromPath[UUID],
    action: FromPath[ReviewAction],
    data: URLEncodedBody[DecisionForm],
) -> Redirect:
    """Approve or reject a submission, then redirect to its page."""
    decide_as = approve_as if action is ReviewAction.APPROVE else reject_as
    await decide_as(assay, caller, submission_id, data.version, data.reason)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


@post(
    "/admin/reviews/{submission_id:uuid}/suppressions",
    opt=REVIEWER,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def suppress_finding(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: URLEncodedBody[SuppressForm]
) -> Redirect:
    """Suppress a finding, then redirect to the review."""
    until: datetime = assay.clock.now() + timedelta(days=data.days)
    request = SuppressionRequest(submission_id, data.rule, data.file, data.scope, until)
    await suppress_as(assay, caller, request, data.reason)
    return Redirect(f"/admin/reviews/{submission_id}", status_code=HTTP_303_SEE_OTHER)


class AnswerForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    outcome: ReportOutcome
    reason: ModerationReason


@get("/admin/reports", opt=REVIEWER, include_in_schema=False)
async def reports(
    assay: Assay,
    status: Annotated[ReportStatus, QueryParameter()] = ReportStatus.OPEN,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
) -> Template:
    """Render open or answered reports: those of accounts first, then oldest first."""
    page = await load_reports(assay, status, None, None, PAGE, cursor)
    more = {"status": status.value, "cursor": page.next_cursor} if page.next_cursor else None
    context = {
        "page": page,
        "status": status,
        "statuses": list(ReportStatus),
        "outcomes": list(ReportOutcome),
        "more": more,
    }
    return Template("moderation/reports.html", context=context)


@post("/admin/reports/{report_id:uuid}", opt=REVIEWER, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def resolve_report(
    assay: Assay, caller: CalledBy, report_id: FromPath[UUID], data: URLEncodedBody[AnswerForm]
) -> Redirect:
    """Answer a report, then redirect to the open reports."""
    await resolve_as(assay, caller, report_id, data.outcome, data.reason)
    return Redirect("/admin/reports", status_code=HTTP_303_SEE_OTHER)


class ReportForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    category: Threat
    text: Statement


@post(
    "/skills/{owner:str}/{repo:str}/{skill:str}/reports",
    opt=PUBLIC | SUBMITTING,
    dependencies=BY_NAME,
    include_in_schema=False,
    request_max_body_size=STATEMENT_FORM_BYTES,
)
async def report_form(
    assay: Assay,
    caller: CalledBy,
    request: Request[Any, Any, Any],
    requested_name: RequestedName,
    data: URLEncodedBody[ReportForm],
) -> Redirect:
    """Send a report about the live version, then redirect to its receipt."""
    message = NewReport(data.category, data.text, None, address_of(request))
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, requested_name)
        created = await file_report(db, listing, message, caller, report_limits(assay), assay.clock)
    return Redirect(f"/reports/{created.id}", status_code=HTTP_303_SEE_OTHER)


@get("/reports/{report_id:uuid}", opt=PUBLIC, include_in_schema=False)
async def receipt(assay: Assay, report_id: FromPath[UUID]) -> Template:
    """Render the status of a report for anyone who has its id; the text of the report is not shown."""
    async with assay.store.snapshot() as db:
        found = await get_report(db, report_id)
    return Template("moderation/receipt.html", context={"report": found})


class AppealForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Statement


@post(
    "/submissions/{submission_id:uuid}/appeal",
    opt=OWNER,
    include_in_schema=False,
    request_max_body_size=STATEMENT_FORM_BYTES,
)
async def appeal_form(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: URLEncodedBody[AppealForm]
) -> Redirect:
    """Appeal against a refusal, then redirect to the submission."""
    async with assay.store.begin() as db:
        limit = rate_limit(assay.settings, LimitClass.APPEALS, caller)
        await file_appeal(db, submission_id, data.text, caller, limit, assay.clock)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


@post(
    "/skills/{owner:str}/{repo:str}/{skill:str}/rescan",
    opt=ACCOUNT | SUBMITTING,
    dependencies=BY_NAME,
    include_in_schema=False,
)
async def rescan_form(assay: Assay, caller: CalledBy, requested_name: RequestedName) -> Redirect:
    """Request a rescan, then redirect to its submission."""
    async with assay.store.begin() as db:
        limit = rate_limit(assay.settings, LimitClass.RESCANS, caller)
        accepted = await request_rescan(db, await find_any_listing(db, requested_name), caller, limit, assay.clock)
    return Redirect(f"/submissions/{accepted.submission.id}", status_code=HTTP_303_SEE_OTHER)
