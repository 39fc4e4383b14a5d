"""The review queue: what waits for a person, and what the person decides."""

from asyncio import to_thread
from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import Conflict, NotFound
from assay.model.source import Source
from assay.model.submission import Origin, State
from assay.moderation.examined_content import ExaminedContent, read_examined
from assay.moderation.review import Decided, approve, reject
from assay.serve.moderation.reviews import ReviewDetail, read_review, read_reviews
from assay.serve.versions.compare import FileChange, compare_sources
from assay.store.skills.skills import find_name
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.moderation.reviews_json import (
    DecisionBody,
    DecisionView,
    ReviewDetailView,
    ReviewPageView,
    present_page,
    present_review,
)
from assay.web.queue.query import REASON, queue_query
from assay.web.submissions.json import LARGEST_REQUEST_BYTES

DECIDED = problems(400, 401, 403, 404, 409, 413, 415, 503)


@get("/", summary="What waits for a reviewer", responses=problems(400, 401, 403, 503))
async def list_reviews(
    assay: Assay,
    caller: CalledBy,
    reason: Annotated[
        str | None, QueryParameter(pattern=REASON, description="Only with this code, such as `appealed`.")
    ] = None,
    repo_url: Annotated[
        str | None, QueryParameter(name="repoUrl", max_length=500, description="Only of this repository.")
    ] = None,
    q: Annotated[
        str | None, QueryParameter(max_length=500, description="A part of the skill's name or of `owner/repo`.")
    ] = None,
    source: Annotated[Origin | None, QueryParameter(description="Only what came in this way.")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Rows on a page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=1000, description="`nextCursor` of the page before.")
    ] = None,
) -> ReviewPageView:
    """Those that have waited longest first; the `reason` of each says why it is here."""
    query = queue_query(
        web_url=assay.settings.github_web_url,
        caller=caller,
        state=State.NEEDS_REVIEW,
        reason=reason,
        repo_url=repo_url,
        q=q,
        source=source,
    )
    async with assay.store.snapshot() as db:
        page = await read_reviews(db, query.filters, assay.clock.now(), limit=limit, cursor=cursor)
    return present_page(page, assay.settings.github_web_url)


@get(
    "/{submission_id:str}", summary="One submission as a reviewer sees it", responses=problems(400, 401, 403, 404, 503)
)
async def get_review(assay: Assay, submission_id: FromPath[UUID]) -> ReviewDetailView:
    """Findings, files, how they differ from what is live, what they newly reach for, and what was said before."""
    review, changes = await look_at(assay, submission_id)
    return present_review(review, changes, assay.settings.github_web_url, assay.ruleset.version)


@post(
    "/{submission_id:str}/approve",
    summary="Approve and publish",
    status_code=HTTP_200_OK,
    responses=DECIDED,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def approve_review(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[DecisionBody]
) -> DecisionView:
    """Publishes exactly the bytes that were examined, as CERTIFIED; also what was refused. What is blocked stays so."""
    return await approve_as(assay, caller, submission_id, data.version, data.reason)


@post(
    "/{submission_id:str}/reject",
    summary="Reject",
    status_code=HTTP_200_OK,
    responses=DECIDED,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def reject_review(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[DecisionBody]
) -> DecisionView:
    """These bytes are not published, now or when they are submitted again; if they are live, they are withdrawn."""
    return await reject_as(assay, caller, submission_id, data.version, data.reason)


async def look_at(assay: App, submission_id: UUID) -> tuple[ReviewDetail, list[FileChange] | None]:
    """A submission, and its files against those that are live; None if its files were not kept."""
    async with assay.store.snapshot() as db:
        review = await read_review(db, submission_id, assay.clock.now())
    digest = review.submission.content_digest
    if digest is None:
        return review, None
    try:
        after = await assay.blobs.load(digest)
        before = await assay.blobs.load(review.live.content_digest) if review.live else Source({}, "")
    except NotFound:
        return review, None
    return review, await to_thread(compare_sources, before, after)


async def approve_as(assay: App, caller: Caller, submission_id: UUID, version: int, reason: str) -> DecisionView:
    """The same for the page."""
    decided = _decided(assay, caller, submission_id, version, reason)
    async with assay.store.snapshot() as db:
        examined = await read_examined(db, submission_id)
    source = await _kept(assay, examined)
    async with assay.store.begin() as db:
        published = await approve(db, decided, examined, source, assay.keys)
        name = await find_name(db, published.skill_id) if published.skill_id else None
    known = published.repository.commit
    return DecisionView(
        id=published.id,
        state=published.state,
        published_skill_name=name,
        content_digest=examined.digest,
        upstream_moved=published.upload_digest is None and known not in (None, examined.commit),
    )


async def reject_as(assay: App, caller: Caller, submission_id: UUID, version: int, reason: str) -> DecisionView:
    """The same for the page."""
    async with assay.store.begin() as db:
        rejected = await reject(db, _decided(assay, caller, submission_id, version, reason))
    return DecisionView(
        id=rejected.id,
        state=rejected.state,
        published_skill_name=None,
        content_digest=rejected.content_digest or "",
        upstream_moved=False,
    )


def _decided(assay: App, caller: Caller, submission_id: UUID, version: int, reason: str) -> Decided:
    return Decided(submission_id, version, reason, caller.name, assay.clock.now())


async def _kept(assay: App, examined: ExaminedContent) -> Source:
    """The bytes that were examined, with the commit that they are from."""
    try:
        kept = await assay.blobs.load(examined.digest)
    except NotFound:
        raise Conflict(
            "The files that were examined are not kept any more; requeue it, and decide about what is there then.",
            code="content_not_kept",
        ) from None
    return Source(kept.files, examined.commit)


router = Router(
    "/api/v1/admin/reviews",
    tags=["admin"],
    opt=ADMIN,
    route_handlers=[list_reviews, get_review, approve_review, reject_review],
)
