"""Submissions as they are read: watch, list, count."""

from typing import Annotated
from uuid import UUID

from litestar import Router, get
from litestar.params import FromPath, QueryParameter

from assay.model.errors import Invalid
from assay.model.submission import CATEGORIES, Category, State
from assay.serve.queue import read_queue, read_submission
from assay.serve.stats import read_stats
from assay.web.api.bulk import bulk
from assay.web.api.discover import discover
from assay.web.api.present import present_detail, present_stats, present_submission
from assay.web.api.problems import problems
from assay.web.api.submit import submit, upload
from assay.web.api.views import StatsView, SubmissionDetailView, SubmissionPageView
from assay.web.given import Assay

Limit = Annotated[int, QueryParameter(ge=1, le=500, description="Rows on a page.")]
Cursor = Annotated[str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")]


@get("/", summary="List submissions, newest first", responses=problems(400, 503))
async def list_submissions(
    assay: Assay,
    cursor: Cursor = None,
    in_state: Annotated[State | None, QueryParameter(name="state", description="Only this state.")] = None,
    category: Annotated[Category | None, QueryParameter(description="Only this group of states.")] = None,
    limit: Limit = 50,
) -> SubmissionPageView:
    """`total` counts all that match, at the same moment as the page."""
    if in_state is not None and category is not None:
        raise Invalid("Give either state or category, not both.", code="bad_filter")
    states = frozenset({in_state}) if in_state else CATEGORIES[category] if category else None
    async with assay.store.snapshot() as db:
        page = await read_queue(db, states=states, cursor=cursor, limit=limit, now=assay.clock.now())
    return SubmissionPageView(
        submissions=[present_submission(each, assay.settings.github_web_url) for each in page.submissions],
        total=page.total,
        next_cursor=page.next_cursor,
    )


@get("/stats", summary="Count submissions", responses=problems(400, 503))
async def stats(assay: Assay) -> StatsView:
    """Every number of the queue, from one snapshot."""
    async with assay.store.snapshot() as db:
        return present_stats(await read_stats(db, assay.clock.now()))


@get("/{submission_id:str}", summary="Watch one submission", responses=problems(400, 404, 503))
async def get_submission(assay: Assay, submission_id: FromPath[UUID]) -> SubmissionDetailView:
    """State, reason, history, stage timings and findings."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
    return present_detail(detail, assay.settings.github_web_url)


router = Router(
    "/api/v1/submissions",
    tags=["submissions"],
    route_handlers=[submit, bulk, discover, upload, list_submissions, stats, get_submission],
)
