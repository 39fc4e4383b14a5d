"""Admin routes of the queue: enqueue, pause, reorder, park and requeue."""

import re
from functools import cache
from typing import Any

import msgspec
from litestar import Response, Router, delete, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.errors import Invalid
from assay.model.repository import Host
from assay.model.submission import Origin, State
from assay.operations.park import BulkResult, park
from assay.operations.pause import pause_queue, resume_queue
from assay.operations.reorder import reorder
from assay.operations.requeue import reprocess, requeue
from assay.store.repositories.repositories import find_repository
from assay.store.submissions.selection import Selection, database_now
from assay.submit.admission import Admission
from assay.submit.bulk import Batch, Item, admit_batch
from assay.submit.validate import MAX_NAME_LENGTH, MIN_NAME_LENGTH, parse_repository_url
from assay.web.http.access import ADMIN
from assay.web.http.context import AnyRequest, Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.limits import share_of
from assay.web.queue.json import (
    BulkEnqueueBody,
    BulkEnqueueView,
    HandledView,
    IdsBody,
    OrderBody,
    PauseBody,
    PauseView,
    ReprocessBody,
    ReprocessView,
    ResumeView,
    SkippedView,
    present_pause,
)
from assay.web.submissions.idempotency import IdempotencyKey, answer_once
from assay.web.submissions.sender import Sender
from assay.web.submissions.submit_json import LARGEST_BATCH_BYTES

REFUSALS = problems(400, 401, 403, 413, 415, 503)
# Matches no row, for a repository that has no submissions.
UNKNOWN_REPOSITORY_ID = -1
QUOTED_CHARACTERS = 200


class EnqueueItem(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One skill; validated on its own, so that an invalid item does not reject the whole request."""

    repo_url: str
    skill_name: str
    skill_path: str | None = None


@post(
    "/bulk-enqueue",
    summary="Enqueue up to 1,000 skills",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def bulk_enqueue(
    assay: Assay,
    caller: CalledBy,
    request: AnyRequest,
    data: JSONBody[BulkEnqueueBody],
    idempotency_key: IdempotencyKey = None,
) -> Response[BulkEnqueueView]:
    """Submit many skills in one request.

    Skills that were submitted before are skipped. An invalid item is reported in `errors` and does not affect the
    others. Send an `Idempotency-Key` to retry safely.
    """
    sender = Sender(caller, Origin.BULK, assay.settings.github_web_url, assay.settings.git_hosts)
    items = [_parse_item(each, sender) for each in data.items]

    share = share_of(request)

    async def work(db: Any) -> tuple[int, BulkEnqueueView]:
        batch = await admit_batch(db, items, may_reopen=False, chunk=assay.settings.enqueue_chunk, share=share)
        return HTTP_200_OK, _present_batch(batch)

    return await answer_once(assay, request, "bulk-enqueue", idempotency_key, data, work)


@post("/pause", summary="Pause the queue", status_code=HTTP_200_OK, responses=REFUSALS)
async def pause(assay: Assay, caller: CalledBy, data: JSONBody[PauseBody]) -> PauseView:
    """Stop workers from claiming submissions until the pause is ended or expires.

    Submissions in progress are finished. A second pause replaces the first.
    """
    async with assay.store.begin() as db:
        return present_pause(await pause_queue(db, reason=data.reason, seconds=data.ttl_seconds, by=caller.name))


@delete("/pause", summary="Resume the queue", status_code=HTTP_200_OK, responses=problems(400, 401, 403, 503))
async def resume(assay: Assay, caller: CalledBy) -> ResumeView:
    """End the pause. Workers claim submissions again within two seconds."""
    async with assay.store.begin() as db:
        ended = await resume_queue(db, by=caller.name)
    return ResumeView(ended=present_pause(ended) if ended else None)


@post("/order", summary="Move submissions to the front or back", status_code=HTTP_200_OK, responses=REFUSALS)
async def order(assay: Assay, caller: CalledBy, data: JSONBody[OrderBody]) -> HandledView:
    """Move waiting submissions to the front or back of the queue; they keep their relative order."""
    async with assay.store.begin() as db:
        return _present_handled(await reorder(db, data.ids, data.position, by=caller.name))


@post("/dequeue", summary="Dequeue submissions", status_code=HTTP_200_OK, responses=REFUSALS)
async def dequeue(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """Remove waiting, held or failed submissions from the queue, and cancel those in progress."""
    async with assay.store.begin() as db:
        return _present_handled(await park(db, data.ids, State.DEQUEUED, reason=data.reason, by=caller.name))


@post("/hold", summary="Hold submissions", status_code=HTTP_200_OK, responses=REFUSALS)
async def hold(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """Park submissions until they are requeued. Those in progress are cancelled first."""
    async with assay.store.begin() as db:
        return _present_handled(await park(db, data.ids, State.ON_HOLD, reason=data.reason, by=caller.name))


@post("/requeue", summary="Requeue submissions", status_code=HTTP_200_OK, responses=REFUSALS)
async def requeue_some(assay: Assay, caller: CalledBy, data: JSONBody[IdsBody]) -> HandledView:
    """Process decided, failed, dequeued or held submissions again. Published versions stay live meanwhile."""
    async with assay.store.begin() as db:
        return _present_handled(await requeue(db, data.ids, by=caller.name, reason=data.reason))


@post("/reprocess", summary="Requeue submissions in bulk", status_code=HTTP_200_OK, responses=REFUSALS)
async def reprocess_many(assay: Assay, caller: CalledBy, data: JSONBody[ReprocessBody]) -> ReprocessView:
    """Requeue up to `limit` submissions that match the filters, least recently updated first, behind new ones.

    `dryRun` only counts. Repeat the request with the returned `before` until `remaining` is 0.
    """
    async with assay.store.begin() as db:
        repository_id = None
        if data.repo_url is not None:
            name, _ = parse_repository_url(data.repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
            known = await find_repository(db, name)
            repository_id = known.id if known else UNKNOWN_REPOSITORY_ID
        selection = Selection(
            states=frozenset(map(State, data.states)),
            before=data.before or await database_now(db),
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


def _parse_item(data: object, sender: Sender) -> Item:
    try:
        item = msgspec.convert(data, EnqueueItem)
    except msgspec.ValidationError as error:
        return Invalid(f"Invalid item: {error}", code="bad_item")
    if not _is_accepted(item.repo_url, sender):
        return Invalid(f"Invalid repoUrl: {item.repo_url[:QUOTED_CHARACTERS]}", code="bad_repo_url")
    if not MIN_NAME_LENGTH <= len(item.skill_name) <= MAX_NAME_LENGTH:
        name = item.skill_name[:QUOTED_CHARACTERS]
        return Invalid(
            f"Invalid skillName: {name!r} must have {MIN_NAME_LENGTH} to {MAX_NAME_LENGTH} characters",
            code="bad_skill_name",
        )
    return sender.item(item.repo_url, item.skill_name, item.skill_path)


def _is_accepted(repo_url: str, sender: Sender) -> bool:
    """Accept only the canonical URL form on GitHub, and any form that a person may enter on other Git hosts."""
    if _repo_url(sender.web_url).fullmatch(repo_url):
        return True
    try:
        repository, _ = parse_repository_url(repo_url, sender.web_url, sender.git_hosts)
    except Invalid:
        return False
    return repository.host is Host.GIT


@cache
def _repo_url(web_url: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(web_url)}/[\w.-]+/[\w.-]+(/.*)?", re.ASCII)


def _present_batch(batch: Batch) -> BulkEnqueueView:
    enqueued, errors = batch.count(Admission.CREATED), batch.errors
    existing = len(batch.results) - enqueued - len(errors)
    return BulkEnqueueView(
        ok=True,
        enqueued=enqueued,
        skipped=existing,
        errors=[f"{error.message} (item {index})" for index, error in errors],
        existing=existing,
        invalid=len(errors),
        batch_id=batch.id,
    )


def _present_handled(handled: BulkResult) -> HandledView:
    return HandledView(
        changed=[each.id for each in handled.changed],
        skipped=msgspec.convert(handled.skipped, list[SkippedView], from_attributes=True),
        missing=handled.missing,
        cancelled=handled.cancelled,
    )


router = Router(
    "/api/v1/admin/queue",
    tags=["admin"],
    opt=ADMIN,
    route_handlers=[bulk_enqueue, pause, resume, order, dequeue, hold, requeue_some, reprocess_many],
)
