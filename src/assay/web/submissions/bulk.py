"""Many skills in one request."""

from typing import Any

from litestar import Response, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.errors import Invalid
from assay.model.submission import Origin
from assay.submit.bulk import Item, accept_batch
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.submissions.idempotency import IdempotencyKey, answer_once
from assay.web.submissions.json import LARGEST_BATCH_BYTES, BatchView, BulkBody
from assay.web.submissions.present import present_batch
from assay.web.submissions.sender import Sender


@post(
    "/bulk",
    summary="Submit many skills",
    status_code=HTTP_200_OK,
    responses=problems(400, 409, 413, 415, 503),
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def bulk(
    assay: Assay, caller: CalledBy, data: JSONBody[BulkBody], idempotency_key: IdempotencyKey = None
) -> Response[BatchView]:
    """At most 1000. An item that cannot be admitted says why and does not stop the others."""
    items = _items(data, Sender(caller, Origin.BULK, assay.settings.github_web_url, assay.settings.git_hosts))

    async def work(db: Any) -> tuple[int, BatchView]:
        return HTTP_200_OK, present_batch(await accept_batch(db, items, chunk=assay.settings.enqueue_chunk))

    return await answer_once(assay, caller, "bulk", idempotency_key, data, work)


def _items(body: BulkBody, sender: Sender) -> list[Item]:
    match body:
        case BulkBody(repo_url=None, skills=None, items=[*items]):
            return [sender.item(each.repo_url, each.skill_name, each.skill_path) for each in items]
        case BulkBody(repo_url=str(repo_url), skills=[*skills], items=None):
            return [sender.item(repo_url, each.name, each.path) for each in skills]
        case _:
            raise Invalid("Give either repoUrl with skills, or items.", code="bad_body")
