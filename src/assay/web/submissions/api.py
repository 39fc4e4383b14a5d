"""Submissions as they are read: watch, list, count."""

from typing import Annotated
from uuid import UUID

from litestar import Router, get
from litestar.params import FromPath, QueryParameter

from assay.accounts.permissions import owns_submission
from assay.model.errors import Invalid
from assay.model.submission import Category, Origin, State
from assay.model.submission_list import Direction, Sort
from assay.serve.queue.position import read_places
from assay.serve.queue.queue import read_queue
from assay.serve.submissions.stats import read_stats
from assay.serve.submissions.submission import read_submission
from assay.web.feed.stream import watch_submission, watch_submissions
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import PositionsView, StatsView, SubmissionDetailView, SubmissionPageView
from assay.web.http.present import present_detail, present_places, present_queue, present_stats
from assay.web.http.problems import problems
from assay.web.moderation.appeals import appeal_submission
from assay.web.queue.query import REASON, is_mine, one_direction, queue_query
from assay.web.submissions.bulk import bulk
from assay.web.submissions.discover import discover
from assay.web.submissions.submit import submit, upload

MOST_IDS = 100


@get("/", summary="List submissions", responses=problems(400, 401, 503))
async def list_submissions(
    assay: Assay,
    caller: CalledBy,
    in_state: Annotated[State | None, QueryParameter(name="state", description="Only this state.")] = None,
    category: Annotated[Category | None, QueryParameter(description="Only this group of states.")] = None,
    reason: Annotated[str | None, QueryParameter(pattern=REASON, description="Only with this reason code.")] = None,
    repo_url: Annotated[
        str | None,
        QueryParameter(name="repoUrl", max_length=500, description="Only of this repository, in any form of its URL."),
    ] = None,
    q: Annotated[
        str | None,
        QueryParameter(
            max_length=500, description="2 to 100 characters: a part of the skill's name or of `owner/repo`."
        ),
    ] = None,
    source: Annotated[Origin | None, QueryParameter(description="Only what came in this way.")] = None,
    mine: Annotated[bool, QueryParameter(description="Only what I have submitted; needs an account.")] = False,
    sort: Annotated[Sort, QueryParameter(description="What the list is ordered by.")] = Sort.CREATED_AT,
    direction: Annotated[
        Direction | None,
        QueryParameter(name="dir", description="`desc` unless given for times, `asc` for everything else."),
    ] = None,
    sort_dir: Annotated[Direction | None, QueryParameter(name="sortDir", description="The same as `dir`.")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="Rows on a page.")] = 50,
    cursor: Annotated[
        str | None, QueryParameter(max_length=1000, description="`nextCursor` of the page before, of the same list.")
    ] = None,
    offset: Annotated[
        int | None, QueryParameter(description="Rows to leave out, 10,000 at most; not with cursor.")
    ] = None,
) -> SubmissionPageView:
    """Page, total and positions are of one moment, and cost the same however many submissions there are."""
    query = queue_query(
        web_url=assay.settings.github_web_url,
        git_hosts=assay.settings.git_hosts,
        caller=caller,
        state=in_state,
        category=category,
        reason=reason,
        repo_url=repo_url,
        q=q,
        source=source,
        mine=mine,
        sort=sort,
        direction=one_direction(direction, sort_dir),
        limit=limit,
        cursor=cursor,
        offset=offset,
    )
    async with assay.store.snapshot() as db:
        page = await read_queue(db, query, assay.clock.now())
    return present_queue(page, assay.settings.github_web_url)


@get("/stats", summary="Count submissions", responses=problems(400, 503))
async def stats(assay: Assay) -> StatsView:
    """Every number of the queue, from one snapshot."""
    async with assay.store.snapshot() as db:
        return present_stats(await read_stats(db, assay.clock.now()))


@get("/positions", summary="Where submissions stand in the queue", responses=problems(400, 503))
async def positions(
    assay: Assay,
    ids: Annotated[str, QueryParameter(max_length=10_000, description="1 to 100 ids, separated by commas.")],
) -> PositionsView:
    """Position and estimate of each that waits; those that do not wait, or do not exist, are left out."""
    wanted = _ids(ids)
    async with assay.store.snapshot() as db:
        return present_places(await read_places(db, wanted, assay.clock.now()))


@get("/{submission_id:str}", summary="Watch one submission", responses=problems(400, 404, 503))
async def get_submission(assay: Assay, caller: CalledBy, submission_id: FromPath[UUID]) -> SubmissionDetailView:
    """State, reason, position, next step, history, stage timings and findings."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
        shows_appeal = detail.appeal is not None and await owns_submission(db, caller, detail.submission)
    mine = is_mine(detail.submission.submitter, caller)
    return present_detail(
        detail, assay.settings.github_web_url, assay.ruleset.version, mine=mine, shows_appeal=shows_appeal
    )


def _ids(given: str) -> list[UUID]:
    try:
        ids = [UUID(each.strip()) for each in given.split(",")]
    except ValueError:
        raise Invalid("ids: give ids of submissions, separated by commas.", code="bad_ids") from None
    if len(ids) > MOST_IDS:
        raise Invalid(f"ids: at most {MOST_IDS} at once.", code="too_many_ids")
    return ids


router = Router(
    "/api/v1/submissions",
    tags=["submissions"],
    opt=PUBLIC,
    route_handlers=[
        submit,
        bulk,
        discover,
        upload,
        list_submissions,
        stats,
        positions,
        watch_submissions,
        watch_submission,
        get_submission,
        appeal_submission,
    ],
)
