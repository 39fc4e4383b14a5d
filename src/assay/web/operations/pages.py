"""The page of those who run the registry: alarms, pause, what is stuck, what failed, who did what."""

from enum import StrEnum
from typing import Annotated, Any, assert_never
from uuid import UUID

import msgspec
from litestar import get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.app.maintenance import watch_limits
from assay.model.errors import Conflict
from assay.model.submission import TRANSITIONS, State, Submission
from assay.model.submission_list import Filters
from assay.operations.park import Handled, park
from assay.operations.pause import LONGEST_SECONDS, pause_queue, resume_queue
from assay.operations.reorder import reorder
from assay.operations.requeue import REQUEUEABLE, reprocess, requeue
from assay.serve.operations.audit import read_audit
from assay.serve.queue.health import read_queue_health
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.queue.stuck import read_stuck
from assay.store.moderation.suppressions import list_ending
from assay.store.queue.jobs import Place
from assay.store.submissions.selection import Selection, now_of
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy

SHOWN = 20
AT_ONCE = 1_000
FORM_BYTES = 8 * 1024
Said = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class Verb(StrEnum):
    """What an admin may do to one submission."""

    FRONT = "front"
    BACK = "back"
    HOLD = "hold"
    DEQUEUE = "dequeue"
    REQUEUE = "requeue"


class PauseForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, and for how many minutes."""

    reason: Said
    minutes: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SECONDS // 60)]


class ReasonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why."""

    reason: Said


@get("/admin", opt=ADMIN, include_in_schema=False)
async def admin(assay: Assay) -> Template:
    """Everything that asks for somebody's attention, from one snapshot."""
    now, limits = assay.clock.now(), watch_limits(assay.settings)
    async with assay.store.snapshot() as db:
        health = await read_queue_health(db, now, limits)
        context = {
            "health": health,
            "in_review": health.facts.by_state[State.NEEDS_REVIEW],
            "stuck": await read_stuck(db, now, limits.stuck, None, SHOWN),
            "failed": await read_queue(db, QueueQuery(Filters(states=frozenset({State.FAILED})), limit=SHOWN), now),
            "ending": await list_ending(db, now + limits.ending, SHOWN),
            "trail": await read_audit(db, cursor=None, limit=SHOWN),
        }
    return Template("operations/admin.html", context=context)


@post("/admin/pause", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def pause(assay: Assay, caller: CalledBy, data: URLEncodedBody[PauseForm]) -> Redirect:
    """Pause the queue, then show the page again."""
    async with assay.store.begin() as db:
        await pause_queue(db, reason=data.reason, seconds=data.minutes * 60, by=caller.name)
    return _back_to("/admin")


@post("/admin/resume", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def resume(assay: Assay, caller: CalledBy) -> Redirect:
    """Let the queue go on."""
    async with assay.store.begin() as db:
        await resume_queue(db, by=caller.name)
    return _back_to("/admin")


@post("/admin/requeue-failed", opt=ADMIN, include_in_schema=False, request_max_body_size=FORM_BYTES)
async def requeue_failed(assay: Assay, caller: CalledBy, data: URLEncodedBody[ReasonForm]) -> Redirect:
    """Give back what could not be examined, up to a thousand at a time."""
    async with assay.store.begin() as db:
        selection = Selection(frozenset({State.FAILED}), before=await now_of(db))
        await reprocess(db, selection, limit=AT_ONCE, dry_run=False, by=caller.name, reason=data.reason)
    return _back_to("/admin")


@post("/admin/submissions/{submission_id:uuid}/{verb:str}", opt=ADMIN, include_in_schema=False)
async def control(
    assay: Assay,
    caller: CalledBy,
    submission_id: FromPath[UUID],
    verb: FromPath[Verb],
    data: URLEncodedBody[ReasonForm],
) -> Redirect:
    """Do it to one submission, then show its page again."""
    async with assay.store.begin() as db:
        handled = await _do(db, verb, submission_id, data.reason, caller.name)
    if not handled.changed:
        standing = handled.skipped[0].state if handled.skipped else "not there"
        raise Conflict(f"This cannot be done: the submission is {standing}.", code="wrong_state")
    return _back_to(f"/submissions/{submission_id}")


def verbs_for(submission: Submission) -> list[Verb]:
    """What can be done to a submission as it stands."""
    waits = submission.state is State.RECEIVED and submission.lease is None
    possible = {
        Verb.FRONT: waits,
        Verb.BACK: waits,
        Verb.HOLD: State.ON_HOLD in TRANSITIONS[submission.state],
        Verb.DEQUEUE: State.DEQUEUED in TRANSITIONS[submission.state],
        Verb.REQUEUE: submission.state in REQUEUEABLE,
    }
    return [verb for verb, is_possible in possible.items() if is_possible]


async def _do(db: Any, verb: Verb, submission_id: UUID, reason: str, by: str) -> Handled:
    match verb:
        case Verb.FRONT | Verb.BACK:
            return await reorder(db, [submission_id], Place(verb.value), by=by)
        case Verb.HOLD:
            return await park(db, [submission_id], State.ON_HOLD, reason=reason, by=by)
        case Verb.DEQUEUE:
            return await park(db, [submission_id], State.DEQUEUED, reason=reason, by=by)
        case Verb.REQUEUE:
            return await requeue(db, [submission_id], by=by, reason=reason)
        case _:
            assert_never(verb)


def _back_to(path: str) -> Redirect:
    return Redirect(path, status_code=HTTP_303_SEE_OTHER)
