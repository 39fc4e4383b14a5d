"""Public queue health, and the list of stuck submissions for administrators."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from assay.app.maintenance import watch_limits
from assay.serve.queue.health import read_queue_health
from assay.serve.queue.stuck import read_stuck
from assay.web.http.access import ADMIN, PUBLIC
from assay.web.http.context import Assay
from assay.web.http.errors import problems
from assay.web.queue.json import QueueHealthView, StuckPageView, present_health, present_stuck


@get("/api/v1/queue/health", summary="Get queue health", tags=["queue"], opt=PUBLIC, responses=problems(400, 503))
async def queue_health(assay: Assay) -> QueueHealthView:
    """Return the backlog, throughput, processes, periodic jobs and alarms of the queue, read from one snapshot.

    Responds with 503 if the database is unavailable; unknown values are never reported as zero.
    """
    async with assay.store.snapshot() as db:
        return present_health(await read_queue_health(db, assay.clock.now(), watch_limits(assay.settings)))


@get(
    "/api/v1/admin/queue/stuck",
    summary="List stuck submissions",
    tags=["admin"],
    opt=ADMIN,
    responses=problems(400, 401, 403, 503),
)
async def list_stuck(
    assay: Assay,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="The `nextCursor` of the previous page.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="The maximum number of rows per page.")] = 50,
) -> StuckPageView:
    """List active submissions whose lease has expired or that have been in their state for longer than its limit.

    The longest stuck come first.
    """
    now = assay.clock.now()
    async with assay.store.snapshot() as db:
        page = await read_stuck(db, now, watch_limits(assay.settings).stuck, cursor, limit)
    return StuckPageView(
        stuck=[present_stuck(each, assay.settings.github_web_url) for each in page.stuck],
        next_cursor=page.next_cursor,
        generated_at=now,
    )
