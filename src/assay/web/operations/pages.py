"""The admin page: alarms, pause, stuck and failed submissions, and recent audit events."""

from typing import Annotated

import msgspec
from litestar import get, post
from litestar.params import URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.app.maintenance import watch_limits
from assay.model.submission import State, SubmissionFilters
from assay.operations.pause import MAX_PAUSE_SECONDS, pause_queue, resume_queue
from assay.operations.requeue import reprocess
from assay.serve.operations.audit import read_audit
from assay.serve.queue.health import read_queue_health
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.queue.stuck import read_stuck
from assay.store.moderation.suppressions import list_ending
from assay.store.submissions.selection import Selection, database_now
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.queue.pages import FORM_BYTES, Reason, ReasonForm

ROWS = 20
REQUEUED_AT_ONCE = 1_000


class PauseForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: Reason
    minutes: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAUSE_SECONDS // 60)]


@get("/admin", opt=ADMIN, include_in_schema=False)
async def admin(assay: Assay) -> Template:
    """Render everything that needs an operator's attention, from one snapshot."""
    now, limits = assay.clock.now(), watch_limits(assay.settings)
    async with assay.store.snapshot() as db:
        health = await read_queue_health(db, now, limits)
        context = {
            "health": health,
            "in_review": health.facts.by_state[State.NEEDS_REVIEW],
            "stuck": await read_stuck(db, now, limits.stuck, None, ROWS),
            "failed": await read_queue(
                db, QueueQuery(SubmissionFilters(states=frozenset({State.FAILED})), limit=ROWS), now
            ),
            "ending": await list_ending(db, now + limits.ending, ROWS),
            "audit": await read_audit(db, cursor=None, limit=ROWS),
        }
    return Template("operations/admin.html", context=context)


@post("/admin/pause", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def pause(assay: Assay, caller: CalledBy, data: URLEncodedBody[PauseForm]) -> Redirect:
    async with assay.store.begin() as db:
        await pause_queue(db, reason=data.reason, seconds=data.minutes * 60, by=caller.name)
    return _to_admin_page()


@post("/admin/resume", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def resume(assay: Assay, caller: CalledBy) -> Redirect:
    async with assay.store.begin() as db:
        await resume_queue(db, by=caller.name)
    return _to_admin_page()


@post("/admin/requeue-failed", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def requeue_failed(assay: Assay, caller: CalledBy, data: URLEncodedBody[ReasonForm]) -> Redirect:
    """Requeue up to 1,000 failed submissions."""
    async with assay.store.begin() as db:
        selection = Selection(frozenset({State.FAILED}), before=await database_now(db))
        await reprocess(db, selection, limit=REQUEUED_AT_ONCE, dry_run=False, by=caller.name, reason=data.reason)
    return _to_admin_page()


def _to_admin_page() -> Redirect:
    return Redirect("/admin", status_code=HTTP_303_SEE_OTHER)
