"""The review queue, and the decisions of reviewers."""

from asyncio import to_thread
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import Conflict, NotFound
from assay.model.source import Source
from assay.model.submission import State
from assay.moderation.examined_content import ExaminedContent, read_examined
from assay.moderation.review import ReviewInput, approve, reject
from assay.serve.moderation.reviews import ReviewDetail, ReviewPage, read_review, read_reviews
from assay.serve.versions.compare import FileChange, compare_sources
from assay.store.skills.skills import find_name
from assay.web.http.access import REVIEWER
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.http.parameters import Params, parameters
from assay.web.moderation.json import (
    DecisionBody,
    DecisionView,
    ReviewDetailView,
    ReviewPageView,
    present_page,
    present_review,
)
from assay.web.moderation.query import ReviewListParameters

DECIDED = problems(400, 401, 403, 404, 409, 413, 415, 503)


@get(
    "/",
    summary="List submissions in review",
    dependencies=parameters(ReviewListParameters),
    responses=problems(400, 401, 403, 503),
)
async def list_reviews(assay: Assay, params: Params[ReviewListParameters]) -> ReviewPageView:
    """List submissions that wait for a reviewer, oldest first; `reason` says why each needs a review."""
    return present_page(await load_reviews(assay, params), assay.settings.github_web_url)


@get("/{submission_id:str}", summary="Get a review", responses=problems(400, 401, 403, 404, 503))
async def get_review(assay: Assay, submission_id: FromPath[UUID]) -> ReviewDetailView:
    """Return the findings, files, changes since the live version, new capabilities and earlier decisions."""
    review, changes = await load_review(assay, submission_id)
    return present_review(review, changes, assay.settings.github_web_url, assay.ruleset.version)


@post(
    "/{submission_id:str}/approve",
    summary="Approve a submission",
    status_code=HTTP_200_OK,
    responses=DECIDED,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def approve_review(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[DecisionBody]
) -> DecisionView:
    """Publish exactly the content that was examined, as CERTIFIED.

    Refused submissions can be approved, too; blocked ones cannot.
    """
    return await approve_as(assay, caller, submission_id, data.version, data.reason)


@post(
    "/{submission_id:str}/reject",
    summary="Reject a submission",
    status_code=HTTP_200_OK,
    responses=DECIDED,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def reject_review(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[DecisionBody]
) -> DecisionView:
    """Reject this content for good: it is not published if submitted again, and is withdrawn if it is live."""
    return await reject_as(assay, caller, submission_id, data.version, data.reason)


async def load_reviews(assay: App, params: ReviewListParameters) -> ReviewPage:
    filters = params.filters(assay.settings, states=frozenset({State.NEEDS_REVIEW}))
    async with assay.store.snapshot() as db:
        return await read_reviews(db, filters, assay.clock.now(), limit=params.limit, cursor=params.cursor)


async def load_review(assay: App, submission_id: UUID) -> tuple[ReviewDetail, list[FileChange] | None]:
    """Return a review and its changes since the live version; None if its files are not stored."""
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
    """Approve as this caller, for the API and the review page."""
    decided = _decided(assay, caller, submission_id, version, reason)
    async with assay.store.snapshot() as db:
        examined = await read_examined(db, submission_id)
    source = await _load_examined(assay, examined)
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
    """Reject as this caller, for the API and the review page."""
    async with assay.store.begin() as db:
        rejected = await reject(db, _decided(assay, caller, submission_id, version, reason))
    return DecisionView(
        id=rejected.id,
        state=rejected.state,
        published_skill_name=None,
        content_digest=rejected.content_digest or "",
        upstream_moved=False,
    )


def _decided(assay: App, caller: Caller, submission_id: UUID, version: int, reason: str) -> ReviewInput:
    return ReviewInput(submission_id, version, reason, caller.name, assay.clock.now())


async def _load_examined(assay: App, examined: ExaminedContent) -> Source:
    try:
        stored = await assay.blobs.load(examined.digest)
    except NotFound:
        raise Conflict(
            "The files that were examined are no longer stored. Requeue the submission and review the new result.",
            code="content_not_kept",
        ) from None
    return Source(stored.files, examined.commit)


router = Router(
    "/api/v1/admin/reviews",
    tags=["admin"],
    opt=REVIEWER,
    route_handlers=[list_reviews, get_review, approve_review, reject_review],
)
