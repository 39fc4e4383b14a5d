"""The queue under control: pause, order, take out, hold, requeue."""

from litestar import Router, delete, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.submission import State
from assay.operations.park import Handled, park
from assay.operations.pause import pause_queue, resume_queue
from assay.operations.reorder import reorder
from assay.operations.requeue import reprocess, requeue
from assay.store.queue.pauses import Pause
from assay.store.repositories.repositories import find_repository
from assay.store.submissions.selection import Selection, now_of
from assay.submit.validate import parse_repository_url
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.queue.admin_json import (
    HandledView,
    IdsBody,
    OrderBody,
    PauseBody,
    PauseView,
    ReprocessBody,
    ReprocessView,
    ResumeView,
    SkippedView,
)
from assay.web.queue.enqueue import bulk_enqueue

REFUSALS = problems(400, 401, 403, 413, 415, 503)
NOBODYS = -1


@post("/pause", summary="Pause the queue", status_code=HTTP_200_OK, responses=REFUSALS)
async def pause(assay: Assay, caller: CalledBy, data: JSONBody[PauseBody]) -> PauseView:
    """Workers claim nothing new until it ends; what is in flight is finished. A second pause replaces the first."""
    async with assay.store.begin() as db:
        return _present_pause(await pause_queue(db, reason=data.reason, seconds=data.ttl_seconds, by=caller.name))


@delete("/pause", summary="Resume the queue", status_code=HTTP_200_OK, responses=problems(400, 401, 403, 503))
async def resume(assay: Assay, caller: CalledBy) -> ResumeView:
    """Workers go on within a second or two."""
    async with assay.store.begin() as db:
        ended = await resume_queue(db, by=caller.name)
    return ResumeView(ended=_present_pause(ended) if ended else None)


@post("/order", summary="Move to the front or the back", status_code=HTTP_200_OK, responses=REFUSALS)
async def order(assay: Assay, caller: CalledBy, data: JSONBody[OrderBody]) -> HandledView:
    """Only what waits can be moved; several keep their order among themselves."""
    async with assay.store.begin() as db:
        return _present(await reorder(db, data.ids, data.position, by=caller.name))


@post("/dequeue", summary="Take out of the queue", status_code=HTTP_200_OK, responses=REFUSALS)
async def dequeue(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """What waits, is held or has failed is taken out; what is in flight is cancelled."""
    async with assay.store.begin() as db:
        return _present(await park(db, data.ids, State.DEQUEUED, reason=data.reason, by=caller.name))


@post("/hold", summary="Hold", status_code=HTTP_200_OK, responses=REFUSALS)
async def hold(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """What waits is parked until it is requeued; what is in flight is cancelled and parked."""
    async with assay.store.begin() as db:
        return _present(await park(db, data.ids, State.ON_HOLD, reason=data.reason, by=caller.name))


@post("/requeue", summary="Give back to the queue", status_code=HTTP_200_OK, responses=REFUSALS)
async def requeue_some(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """A new look at what was decided, failed, taken out or held; what is published stays live meanwhile."""
    async with assay.store.begin() as db:
        return _present(await requeue(db, data.ids, by=caller.name, reason=data.reason))


@post("/reprocess", summary="Requeue in bulk", status_code=HTTP_200_OK, responses=REFUSALS)
async def reprocess_many(assay: Assay, caller: CalledBy, data: JSONBody[ReprocessBody]) -> ReprocessView:
    """`dryRun` counts only. Otherwise `limit` at a time, the longest unchanged first, behind what is new."""
    async with assay.store.begin() as db:
        repository_id = None
        if data.repo_url is not None:
            name, _ = parse_repository_url(data.repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
            known = await find_repository(db, name)
            repository_id = known.id if known else NOBODYS
        selection = Selection(
            states=frozenset(map(State, data.states)),
            before=data.before or await now_of(db),
            reason=data.reason_code,
            origin=data.source,
            repository_id=repository_id,
        )
        done = await reprocess(
            db, selection, limit=data.limit, dry_run=data.dry_run, by=caller.name, reason=data.reason
        )
    return ReprocessView(
        dry_run=data.dry_run,
        matched={state.value: number for state, number in done.matched.items()},
        matched_is_exact=done.is_exact,
        requeued=done.requeued,
        remaining=done.remaining,
        before=selection.before,
    )


def _present(handled: Handled) -> HandledView:
    return HandledView(
        changed=[each.id for each in handled.changed],
        skipped=[SkippedView(id=each.id, state=each.state) for each in handled.skipped],
        missing=handled.missing,
        cancelled=handled.cancelled,
    )


def _present_pause(pause: Pause) -> PauseView:
    return PauseView(
        reason=pause.reason, paused_by=pause.paused_by, paused_at=pause.paused_at, expires_at=pause.expires_at
    )


router = Router(
    "/api/v1/admin/queue",
    tags=["admin"],
    opt=ADMIN,
    route_handlers=[bulk_enqueue, pause, resume, order, dequeue, hold, requeue_some, reprocess_many],
)
