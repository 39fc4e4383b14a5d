"""Suppressions: findings that reviewers exclude until a date."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.moderation import Suppression, SuppressionScope
from assay.model.text import WITHOUT_NUL
from assay.moderation.suppress import SuppressionRequest, lift_suppression, suppress
from assay.moderation.withdraw import status_reason
from assay.serve.moderation.lists import read_suppressions
from assay.web.http.access import REVIEWER
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES, Body, View
from assay.web.moderation.json import SuppressionView, present_suppression
from assay.web.versions.json import PublicReason

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=WITHOUT_NUL)]


class SuppressBody(Body, frozen=True):
    """The finding to suppress, by rule and file; the end date and the reason."""

    rule_id: Name
    file: Name
    until: Moment
    reason: PublicReason
    scope: SuppressionScope = SuppressionScope.CONTENT


class SuppressedFindingView(View, frozen=True):
    """The suppression, and the number of submissions that are requeued because of it."""

    suppression: SuppressionView
    submissions: int


class SuppressionsPageView(View, frozen=True):
    """A page of suppressions, newest first."""

    suppressions: list[SuppressionView]
    next_cursor: str | None


class EndSuppressionBody(Body, frozen=True):
    """The reason for ending the suppression."""

    reason: PublicReason


@get("/suppressions", summary="List suppressions", responses=problems(400, 401, 403, 503))
async def list_suppressions(
    assay: Assay,
    holding: Annotated[
        bool | None, QueryParameter(description="Only suppressions in force (`true`), or only ended ones.")
    ] = None,
    rule_id: Annotated[
        str | None,
        QueryParameter(
            name="ruleId", max_length=100, pattern=WITHOUT_NUL, description="Only suppressions of this rule."
        ),
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="The maximum number of rows per page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="The `nextCursor` of the previous page.")
    ] = None,
) -> SuppressionsPageView:
    """List suppressions, newest first."""
    async with assay.store.snapshot() as db:
        page = await read_suppressions(db, holding=holding, rule_id=rule_id, limit=limit, cursor=cursor)
    return SuppressionsPageView(
        suppressions=[present_suppression(each) for each in page.suppressions], next_cursor=page.next_cursor
    )


@post(
    "/reviews/{submission_id:str}/suppressions",
    summary="Suppress a finding",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def add_suppression(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[SuppressBody]
) -> SuppressedFindingView:
    """Exclude a finding from the verdict until a date.

    The finding stays visible, and blocked skills stay blocked.
    """
    request = SuppressionRequest(submission_id, data.rule_id, data.file, data.scope, data.until)
    new, requeued = await suppress_as(assay, caller, request, data.reason)
    return SuppressedFindingView(suppression=present_suppression(new), submissions=requeued)


@delete(
    "/suppressions/{suppression_id:str}",
    summary="End a suppression",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def remove_suppression(
    assay: Assay, caller: CalledBy, suppression_id: FromPath[UUID], data: JSONBody[EndSuppressionBody]
) -> SuppressionView:
    """Count the finding again, and re-evaluate the submissions that were published because of the suppression."""
    why = status_reason("lifted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return present_suppression(await lift_suppression(db, suppression_id, why))


async def suppress_as(assay: App, caller: Caller, request: SuppressionRequest, reason: str) -> tuple[Suppression, int]:
    """Suppress a finding as this caller, for the API and the review page."""
    why = status_reason("suppressed", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return await suppress(db, request, why)


router = Router(
    "/api/v1/admin",
    tags=["admin"],
    opt=REVIEWER,
    route_handlers=[list_suppressions, add_suppression, remove_suppression],
)
