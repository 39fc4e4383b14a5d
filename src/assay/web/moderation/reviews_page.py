"""The pages of reviewers: what waits, and one of them with everything that a decision needs."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import get, post
from litestar.params import FromPath, QueryParameter, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.submission import State
from assay.model.suppression import Scope
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.moderation.suppress import Wanted
from assay.serve.moderation.reviews import read_reviews
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.format import REVIEW_REASONS
from assay.web.http.present import repository_url
from assay.web.moderation.reviews import approve_as, look_at, reject_as
from assay.web.moderation.suppressions import suppress_as
from assay.web.operations.pages import FORM_BYTES
from assay.web.queue.query import queue_query
from assay.web.skills.pages import scan_of

PAGE = 50
USUAL_DAYS = 90
Said = Annotated[str, msgspec.Meta(min_length=3, max_length=1_000)]


class Verdict(StrEnum):
    """What a reviewer may say."""

    APPROVE = "approve"
    REJECT = "reject"


class DecisionForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, and what was looked at."""

    reason: Said
    version: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class SuppressForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which finding, for how long, and why."""

    rule: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    file: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    scope: Scope
    days: Annotated[int, msgspec.Meta(ge=1, le=365)]
    reason: Said


@get("/admin/reviews", opt=ADMIN, include_in_schema=False)
async def reviews(
    assay: Assay,
    caller: CalledBy,
    reason: Annotated[str, QueryParameter(max_length=100)] = "",
    q: Annotated[str, QueryParameter(max_length=500)] = "",
    cursor: Annotated[str | None, QueryParameter(max_length=1000)] = None,
) -> Template:
    """What waits for a person, oldest first."""
    query = queue_query(
        web_url=assay.settings.github_web_url,
        caller=caller,
        state=State.NEEDS_REVIEW,
        reason=reason.strip() or None,
        q=q if q.strip() else None,
    )
    async with assay.store.snapshot() as db:
        page = await read_reviews(db, query.filters, assay.clock.now(), limit=PAGE, cursor=cursor)
    kept = {name: value for name, value in (("reason", reason), ("q", q)) if value}
    more = {**kept, "cursor": page.next_cursor} if page.next_cursor else None
    context = {"page": page, "given": {"reason": reason, "q": q}, "reasons": REVIEW_REASONS, "more": more}
    return Template("moderation/reviews.html", context=context)


@get("/admin/reviews/{submission_id:uuid}", opt=ADMIN, include_in_schema=False)
async def review(assay: Assay, submission_id: FromPath[UUID]) -> Template:
    """One submission as a reviewer sees it."""
    found, changes = await look_at(assay, submission_id)
    context = {
        "review": found,
        "submission": found.submission,
        "changes": changes,
        "is_open": found.submission.state in OPEN_TO_REVIEW,
        "can_reject": found.submission.state is State.NEEDS_REVIEW,
        "judgement": scan_of(found.detail.scans, 2),
        "scopes": list(Scope),
        "usual_days": USUAL_DAYS,
        "repo_url": repository_url(found.submission.repository.name, assay.settings.github_web_url),
    }
    return Template("moderation/review.html", context=context)


@post(
    "/admin/reviews/{submission_id:uuid}/{verdict:str}",
    opt=ADMIN,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def decide(
    assay: Assay,
    caller: CalledBy,
    submission_id: FromPath[UUID],
    verdict: FromPath[Verdict],
    data: URLEncodedBody[DecisionForm],
) -> Redirect:
    """Approve or reject, then show what has become of it."""
    say = approve_as if verdict is Verdict.APPROVE else reject_as
    await say(assay, caller, submission_id, data.version, data.reason)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


@post(
    "/admin/reviews/{submission_id:uuid}/suppressions",
    opt=ADMIN,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def suppress_finding(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: URLEncodedBody[SuppressForm]
) -> Redirect:
    """Let a finding not count, then show the review again."""
    until: datetime = assay.clock.now() + timedelta(days=data.days)
    wanted = Wanted(submission_id, data.rule, data.file, data.scope, until)
    await suppress_as(assay, caller, wanted, data.reason)
    return Redirect(f"/admin/reviews/{submission_id}", status_code=HTTP_303_SEE_OTHER)
