"""The queue, and the page of one submission."""

from typing import Annotated
from uuid import UUID

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Template

from assay.model.submission import ACTIVE, CATEGORIES, Category
from assay.serve.queue import read_queue, read_submission
from assay.web.api.present import repository_url
from assay.web.given import Assay

PAGE = 50
REFRESH_SECONDS = 2


@get("/queue", include_in_schema=False)
async def queue(
    assay: Assay,
    category: FromQuery[Category | None] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
) -> Template:
    """Everything that was submitted, newest first."""
    states = CATEGORIES[category] if category else None
    async with assay.store.snapshot() as db:
        page = await read_queue(db, states=states, cursor=cursor, limit=PAGE, now=assay.clock.now())
    refresh = REFRESH_SECONDS if page.stats.by_category[Category.ACTIVE] and cursor is None else None
    filtered = {"category": category.value} if category else {}
    more = {**filtered, "cursor": page.next_cursor} if page.next_cursor else None
    context = {"page": page, "chosen": category, "categories": list(Category), "more": more, "refresh": refresh}
    return Template("queue.html", context=context)


@get("/submissions/{submission_id:uuid}", include_in_schema=False)
async def submission(assay: Assay, submission_id: FromPath[UUID]) -> Template:
    """Where it stands, why, and what to do next."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
    context = {
        "detail": detail,
        "submission": detail.submission,
        "repo_url": repository_url(detail.submission.repository.name, assay.settings.github_web_url),
        "refresh": REFRESH_SECONDS if detail.submission.state in ACTIVE else None,
    }
    return Template("submission.html", context=context)
