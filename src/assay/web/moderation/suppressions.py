"""Suppressions: findings that do not count until a date."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.suppression import Scope, Suppression
from assay.model.text import WITHOUT_NUL
from assay.moderation.suppress import Wanted, lift, suppress
from assay.moderation.withdraw import remark
from assay.serve.moderation.lists import read_suppressions
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.moderation.reviews_json import SuppressionView, present_suppression
from assay.web.submissions.json import LARGEST_REQUEST_BYTES, Body
from assay.web.versions.json import Why

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=WITHOUT_NUL)]


class SuppressBody(Body, frozen=True):
    """A finding of the submission: which rule in which file, until when, and why."""

    rule_id: Name
    file: Name
    until: Moment
    reason: Why
    scope: Scope = Scope.CONTENT


class SuppressedFindingView(View, frozen=True):
    """The suppression, and how many submissions are looked at again because of it."""

    suppression: SuppressionView
    submissions: int


class SuppressionsPageView(View, frozen=True):
    """A page of suppressions, newest first."""

    suppressions: list[SuppressionView]
    next_cursor: str | None


class LiftBody(Body, frozen=True):
    """Why the finding counts again."""

    reason: Why


@get("/suppressions", summary="List suppressions", responses=problems(400, 401, 403, 503))
async def list_suppressions(
    assay: Assay,
    holding: Annotated[
        bool | None, QueryParameter(description="Only those that hold, or only those that ended.")
    ] = None,
    rule_id: Annotated[
        str | None,
        QueryParameter(name="ruleId", max_length=100, pattern=WITHOUT_NUL, description="Only of this rule."),
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Rows on a page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")
    ] = None,
) -> SuppressionsPageView:
    """Newest first."""
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
    """The policy judges without it until then; it stays visible, and what is blocked stays blocked."""
    wanted = Wanted(submission_id, data.rule_id, data.file, data.scope, data.until)
    new, looked_at = await suppress_as(assay, caller, wanted, data.reason)
    return SuppressedFindingView(suppression=present_suppression(new), submissions=looked_at)


@delete(
    "/suppressions/{suppression_id:str}",
    summary="End a suppression",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def remove_suppression(
    assay: Assay, caller: CalledBy, suppression_id: FromPath[UUID], data: JSONBody[LiftBody]
) -> SuppressionView:
    """The finding counts again, and what was published with its help is judged anew."""
    why = remark("lifted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return present_suppression(await lift(db, suppression_id, why))


async def suppress_as(assay: App, caller: Caller, wanted: Wanted, reason: str) -> tuple[Suppression, int]:
    """The same for the page."""
    why = remark("suppressed", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        return await suppress(db, wanted, why)


router = Router(
    "/api/v1/admin",
    tags=["admin"],
    opt=ADMIN,
    route_handlers=[list_suppressions, add_suppression, remove_suppression],
)
