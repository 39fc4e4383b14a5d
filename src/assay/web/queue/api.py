"""How the queue is: its health for everybody, the stuck list for admins."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from assay.app.maintenance import watch_limits
from assay.serve.queue.health import read_queue_health
from assay.serve.queue.stuck import read_stuck
from assay.web.http.access import ADMIN, PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.queue.json import QueueHealthView, StuckPageView
from assay.web.queue.present import present_health, present_stuck


@get("/api/v1/queue/health", summary="How the queue is", tags=["queue"], opt=PUBLIC, responses=problems(400, 503))
async def queue_health(assay: Assay) -> QueueHealthView:
    """Computed from one snapshot when it is asked for; what cannot be known is a 503, never a zero."""
    async with assay.store.snapshot() as db:
        return present_health(await read_queue_health(db, assay.clock.now(), watch_limits(assay.settings)))


@get(
    "/api/v1/admin/queue/stuck",
    summary="List stuck submissions, longest first",
    tags=["admin"],
    opt=ADMIN,
    responses=problems(400, 401, 403, 503),
)
async def list_stuck(
    assay: Assay,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="Rows on a page.")] = 50,
) -> StuckPageView:
    """Active submissions whose lease has expired, or which have been in their state for longer than they should."""
    now = assay.clock.now()
    async with assay.store.snapshot() as db:
        page = await read_stuck(db, now, watch_limits(assay.settings).stuck, cursor, limit)
    return StuckPageView(
        stuck=[present_stuck(each, assay.settings.github_web_url) for each in page.stuck],
        next_cursor=page.next_cursor,
        generated_at=now,
    )
