"""The queue page, the page of one submission, and the forms that control a submission."""

from enum import StrEnum
from typing import Annotated, Any, assert_never
from uuid import UUID

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.accounts.permissions import owns_submission
from assay.model.errors import Conflict
from assay.model.submission import (
    ACTIVE,
    TRANSITIONS,
    Origin,
    State,
    StateGroup,
    Submission,
    SubmissionSort,
)
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.operations.park import BulkResult, park
from assay.operations.reorder import reorder
from assay.operations.requeue import REQUEUEABLE, requeue
from assay.serve.queue.queue import MAX_QUERY_LENGTH, read_queue
from assay.serve.submissions.stats import Stats
from assay.serve.submissions.submission import read_submission
from assay.store.queue.jobs import QueueEnd
from assay.web.findings.scans import newest_scan
from assay.web.http.access import ADMIN, PUBLIC
from assay.web.http.context import Assay, CalledBy
from assay.web.http.degraded import degraded
from assay.web.http.links import repository_url
from assay.web.http.parameters import FormRequest, Params, parameters, requested_fields
from assay.web.queue.degraded import queue_page
from assay.web.submissions.degraded import submission_page
from assay.web.submissions.query import QueuePageParameters, is_mine

# Body limit of the short admin forms.
FORM_BYTES = 8 * 1024
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
REFRESH_SECONDS = 2
# Long enough to fill in the filter form between two reloads.
LIST_REFRESH_SECONDS = 10
STREAM = "/api/v1/submissions/stream"
SORTS = {
    SubmissionSort.CREATED_AT: "newest first",
    SubmissionSort.UPDATED_AT: "recently updated first",
    SubmissionSort.SKILL_NAME: "name",
    SubmissionSort.STATE: "state",
    SubmissionSort.PROCESSING_ORDER: "processing order",
}


class QueueFormRequest(FormRequest):
    """A request to the queue page, whose tabs set the category."""

    set_by_links = FormRequest.set_by_links | {"category"}


class SubmissionAction(StrEnum):
    FRONT = "front"
    BACK = "back"
    HOLD = "hold"
    DEQUEUE = "dequeue"
    REQUEUE = "requeue"


class ReasonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: Reason


@get(
    "/queue",
    opt=PUBLIC | degraded(queue_page),
    dependencies=parameters(QueuePageParameters),
    request_class=QueueFormRequest,
    include_in_schema=False,
)
async def queue(
    assay: Assay,
    caller: CalledBy,
    request: Request[Any, Any, Any],
    params: Params[QueuePageParameters],
) -> Template:
    """Render a page of submissions, filtered and sorted by the query."""
    query = params.query(assay.settings, caller)
    async with assay.store.snapshot() as db:
        page = await read_queue(db, query, assay.clock.now())
    fields = requested_fields(request, "cursor")
    selected = {name: value for name, value in fields.items() if value}
    filters = {name: value for name, value in selected.items() if name != "category"}
    context = {
        "page": page,
        "chosen": params.category,
        "tabs": _tabs(page.stats, filters, params.sort),
        "origins": list(Origin),
        "sorts": SORTS,
        "sorted_by": params.sort,
        "params": {**fields, "mine": params.mine},
        "is_filtered": query.filters.need_counting,
        "longest": MAX_QUERY_LENGTH,
        "more": {**selected, "cursor": page.next_cursor} if page.next_cursor else None,
        "refresh": LIST_REFRESH_SECONDS
        if page.stats.by_category[StateGroup.ACTIVE] and params.cursor is None
        else None,
        "stream": STREAM,
    }
    return Template("queue/queue.html", context=context)


@get("/submissions/{submission_id:uuid}", opt=PUBLIC | degraded(submission_page), include_in_schema=False)
async def submission(assay: Assay, caller: CalledBy, submission_id: FromPath[UUID]) -> Template:
    """Render the state of a submission, the reason for it, and the next step."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
        is_reviewable = detail.submission.state in OPEN_TO_REVIEW
        is_refused = is_reviewable and detail.submission.content_digest is not None
        has_appeal_section = is_refused or detail.appeal is not None
        is_author = has_appeal_section and caller.is_signed_in and await owns_submission(db, caller, detail.submission)
    context = {
        "detail": detail,
        "submission": detail.submission,
        "mine": is_mine(detail.submission.submitter, caller),
        "repo_url": repository_url(detail.submission.repository.name, assay.settings.github_web_url),
        "refresh": REFRESH_SECONDS if detail.submission.state in ACTIVE else None,
        "stream": f"{STREAM}/{submission_id}",
        "actions": possible_actions(detail.submission) if caller.is_admin else (),
        "judgement": newest_scan(detail.scans, 2),
        "shows_appeal": is_author or caller.is_reviewer,
        # Reviewers decide reviews themselves and need no appeal.
        "may_appeal": is_refused and is_author and not caller.is_reviewer,
        "could_appeal": is_refused and not caller.is_signed_in,
        "review_url": f"/admin/reviews/{submission_id}" if caller.is_reviewer and is_reviewable else None,
    }
    return Template("submissions/submission.html", context=context)


@post("/admin/submissions/{submission_id:uuid}/{action:str}", opt=ADMIN, include_in_schema=False)
async def control(
    assay: Assay,
    caller: CalledBy,
    submission_id: FromPath[UUID],
    action: FromPath[SubmissionAction],
    data: URLEncodedBody[ReasonForm],
) -> Redirect:
    """Apply an action to one submission, then redirect to its page."""
    async with assay.store.begin() as db:
        handled = await _apply(db, action, submission_id, data.reason, caller.name)
    if not handled.changed:
        problem = f"the submission is {handled.skipped[0].state}" if handled.skipped else "there is no such submission"
        raise Conflict(f"The action “{action}” is not possible: {problem}.", code="wrong_state")
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


def possible_actions(submission: Submission) -> list[SubmissionAction]:
    """Return the actions that the state of the submission allows."""
    is_waiting = submission.state is State.RECEIVED and submission.lease is None
    possible = {
        SubmissionAction.FRONT: is_waiting,
        SubmissionAction.BACK: is_waiting,
        SubmissionAction.HOLD: State.ON_HOLD in TRANSITIONS[submission.state],
        SubmissionAction.DEQUEUE: State.DEQUEUED in TRANSITIONS[submission.state],
        SubmissionAction.REQUEUE: submission.state in REQUEUEABLE,
    }
    return [action for action, is_possible in possible.items() if is_possible]


def _tabs(
    stats: Stats, filters: dict[str, str], sorted_by: SubmissionSort
) -> list[tuple[StateGroup | None, int, dict[str, str]]]:
    """Return each category, its count and its query parameters; only active submissions have a processing order."""
    unsorted = {name: value for name, value in filters.items() if name not in ("sort", "dir")}
    tabs: list[tuple[StateGroup | None, int, dict[str, str]]] = [(None, stats.total, filters)]
    for category, number in stats.by_category.items():
        is_sorted = sorted_by is not SubmissionSort.PROCESSING_ORDER or category is StateGroup.ACTIVE
        tabs.append((category, number, {**(filters if is_sorted else unsorted), "category": category.value}))
    return tabs


async def _apply(db: Any, action: SubmissionAction, submission_id: UUID, reason: str, by: str) -> BulkResult:
    match action:
        case SubmissionAction.FRONT | SubmissionAction.BACK:
            return await reorder(db, [submission_id], QueueEnd(action.value), by=by)
        case SubmissionAction.HOLD:
            return await park(db, [submission_id], State.ON_HOLD, reason=reason, by=by)
        case SubmissionAction.DEQUEUE:
            return await park(db, [submission_id], State.DEQUEUED, reason=reason, by=by)
        case SubmissionAction.REQUEUE:
            return await requeue(db, [submission_id], by=by, reason=reason)
        case _:
            assert_never(action)
