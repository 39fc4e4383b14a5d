"""Security reports: from anybody, with a receipt, and nothing of the reporter for anybody but administrators."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.blocklist import Threat
from assay.model.security_report import LONGEST, SHORTEST, ReportOutcome, SecurityReport
from assay.model.text import WITHOUT_NUL
from assay.moderation.report import Told, report
from assay.serve.skills.catalogue import find_any_listing
from assay.store.moderation.security_reports import get_report
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.submissions.json import LARGEST_REQUEST_BYTES, Body
from assay.web.versions.naming import wanted_name

Version = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=WITHOUT_NUL)]


class ReportBody(Body, frozen=True):
    """What is wrong; with the live version unless another is given."""

    category: Threat
    text: Annotated[str, msgspec.Meta(min_length=SHORTEST, max_length=LONGEST)]
    version: Version | None = None


class ReceiptView(View, frozen=True):
    """What has become of a report, for whoever has its id. Nobody else learns that it exists, or who wrote it."""

    id: UUID
    skill: str
    version: str
    category: Threat
    status: Annotated[str, msgspec.Meta(description="`open`, or the outcome.")]
    outcome: ReportOutcome | None
    answer: str | None
    created_at: datetime
    answered_at: datetime | None


@post(
    "/{owner:str}/{repo:str}/{skill:str}/reports",
    summary="Report a security problem",
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
    """With an account 20 a day, without one 5 a day for an address. Keep the id: it is the receipt."""
    told = Told(data.category, data.text, data.version, request.client.host if request.client else "")
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, wanted_name(owner, repo, skill))
        return present_receipt(await report(db, listing, told, caller, assay.clock))


@get(
    "/api/v1/reports/{report_id:str}",
    summary="What has become of a report",
    tags=["skills"],
    opt=PUBLIC,
    responses=problems(400, 404, 503),
)
async def get_report_status(assay: Assay, report_id: FromPath[UUID]) -> ReceiptView:
    """By the id on its receipt."""
    async with assay.store.snapshot() as db:
        return present_receipt(await get_report(db, report_id))


def present_receipt(told: SecurityReport) -> ReceiptView:
    """A report for whoever wrote it."""
    return ReceiptView(
        id=told.id,
        skill=told.skill_name,
        version=told.version,
        category=told.category,
        status=told.outcome or "open",
        outcome=told.outcome,
        answer=told.answer,
        created_at=told.created_at,
        answered_at=told.answered_at,
    )
