"""Submissions: list, count, locate in the queue, and get one."""

from typing import Annotated
from uuid import UUID

from litestar import get
from litestar.params import FromPath, QueryParameter

from assay.accounts.permissions import owns_submission
from assay.model.errors import Invalid
from assay.serve.queue.position import read_positions
from assay.serve.queue.queue import read_queue
from assay.serve.submissions.stats import read_stats
from assay.serve.submissions.submission import read_submission
from assay.web.http.context import Assay, CalledBy
from assay.web.http.degraded import degraded
from assay.web.http.errors import problems
from assay.web.http.parameters import Params, parameters
from assay.web.submissions import degraded as without_database
from assay.web.submissions.json import (
    PositionsView,
    StatsView,
    SubmissionDetailView,
    SubmissionPageView,
    present_detail,
    present_positions,
    present_queue,
    present_stats,
)
from assay.web.submissions.query import SubmissionListParameters, is_mine

MAX_IDS = 100


@get(
    "/",
    summary="List submissions",
    opt=degraded(without_database.list_submissions),
    dependencies=parameters(SubmissionListParameters),
    responses=problems(400, 401, 503),
)
async def list_submissions(
    assay: Assay, caller: CalledBy, params: Params[SubmissionListParameters]
) -> SubmissionPageView:
    """List submissions with their total and queue positions, all from one snapshot."""
    query = params.query(assay.settings, caller)
    async with assay.store.snapshot() as db:
        page = await read_queue(db, query, assay.clock.now())
    return present_queue(page, assay.settings.github_web_url)


@get(
    "/stats",
    summary="Count submissions",
    opt=degraded(without_database.count_submissions),
    responses=problems(400, 503),
)
async def stats(assay: Assay) -> StatsView:
    """Count submissions by state and group, and live listings, all from one snapshot."""
    async with assay.store.snapshot() as db:
        return present_stats(await read_stats(db, assay.clock.now()))


@get("/positions", summary="Get positions in the queue", responses=problems(400, 503))
async def positions(
    assay: Assay,
    ids: Annotated[str, QueryParameter(max_length=10_000, description="1 to 100 submission ids, separated by commas.")],
) -> PositionsView:
    """Return the position of each waiting submission with an estimate of when it will be decided.

    Submissions that do not wait or do not exist are left out.
    """
    requested = _parse_ids(ids)
    async with assay.store.snapshot() as db:
        return present_positions(await read_positions(db, requested, assay.clock.now()))


@get(
    "/{submission_id:str}",
    summary="Get a submission",
    opt=degraded(without_database.get_submission),
    responses=problems(400, 404, 503),
)
async def get_submission(assay: Assay, caller: CalledBy, submission_id: FromPath[UUID]) -> SubmissionDetailView:
    """Return the state, reason, position, next step, history, stage timings and findings of a submission."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
        shows_appeal = detail.appeal is not None and (
            caller.is_reviewer or await owns_submission(db, caller, detail.submission)
        )
    mine = is_mine(detail.submission.submitter, caller)
    return present_detail(
        detail, assay.settings.github_web_url, assay.ruleset.version, mine=mine, shows_appeal=shows_appeal
    )


def _parse_ids(text: str) -> list[UUID]:
    try:
        ids = [UUID(each.strip()) for each in text.split(",")]
    except ValueError:
        raise Invalid("ids: give submission ids, separated by commas.", code="bad_ids") from None
    if len(ids) > MAX_IDS:
        raise Invalid(f"ids: at most {MAX_IDS} ids per request.", code="too_many_ids")
    return ids
