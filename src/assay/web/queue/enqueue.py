"""`POST /api/v1/admin/queue/bulk-enqueue`: a thousand skills in one request, for machines that find them."""

import re
from functools import cache
from typing import Any

import msgspec
from litestar import Response, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.errors import Invalid
from assay.model.repository import Host
from assay.model.submission import Origin
from assay.submit.admission import Admission
from assay.submit.bulk import Batch, Item, accept_batch
from assay.submit.validate import LONGEST_NAME, SHORTEST_NAME, parse_repository_url
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.queue.admin_json import BulkEnqueueBody, BulkEnqueueView
from assay.web.submissions.idempotency import IdempotencyKey, answer_once
from assay.web.submissions.json import LARGEST_BATCH_BYTES
from assay.web.submissions.sender import Sender

SHOWN = 200


class EnqueueItem(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One skill; what is wrong with it is an error of its own."""

    repo_url: str
    skill_name: str
    skill_path: str | None = None


@post(
    "/bulk-enqueue",
    summary="Enqueue up to 1000 skills",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def bulk_enqueue(
    assay: Assay, caller: CalledBy, data: JSONBody[BulkEnqueueBody], idempotency_key: IdempotencyKey = None
) -> Response[BulkEnqueueView]:
    """What is known already is skipped; an item that is wrong is an error and does not stop the others."""
    sender = Sender(caller, Origin.BULK, assay.settings.github_web_url, assay.settings.git_hosts)
    items = [_checked(each, sender) for each in data.items]

    async def work(db: Any) -> tuple[int, BulkEnqueueView]:
        batch = await accept_batch(db, items, may_reopen=False, chunk=assay.settings.enqueue_chunk)
        return HTTP_200_OK, _present(batch)

    return await answer_once(assay, caller, "bulk-enqueue", idempotency_key, data, work)


def _checked(given: object, sender: Sender) -> Item:
    try:
        item = msgspec.convert(given, EnqueueItem)
    except msgspec.ValidationError as problem:
        return Invalid(f"Invalid item: {problem}", code="bad_item")
    if not _is_accepted(item.repo_url, sender):
        return Invalid(f"Invalid repoUrl: {item.repo_url[:SHOWN]}", code="bad_repo_url")
    if not SHORTEST_NAME <= len(item.skill_name) <= LONGEST_NAME:
        return Invalid(
            f"Invalid skillName: {item.skill_name[:SHOWN]!r} must have {SHORTEST_NAME} to {LONGEST_NAME} characters",
            code="bad_skill_name",
        )
    return sender.item(item.repo_url, item.skill_name, item.skill_path)


def _is_accepted(repo_url: str, sender: Sender) -> bool:
    """On GitHub in its plainest form, as machines write it; on another host as anybody may write it."""
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


def _present(batch: Batch) -> BulkEnqueueView:
    enqueued, errors = batch.count(Admission.CREATED), batch.errors
    existing = len(batch.results) - enqueued - len(errors)
    return BulkEnqueueView(
        ok=True,
        enqueued=enqueued,
        skipped=existing,
        errors=[f"{problem.message} (item {index})" for index, problem in errors],
        existing=existing,
        invalid=len(errors),
        batch_id=batch.id,
    )
