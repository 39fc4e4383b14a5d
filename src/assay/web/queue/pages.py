"""The queue, and the page of one submission."""

from enum import StrEnum
from typing import Annotated, TypeVar
from uuid import UUID

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Template

from assay.accounts.permissions import owns_submission
from assay.model.errors import Invalid
from assay.model.submission import ACTIVE, Category, Origin
from assay.model.submission_list import Direction, Sort
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.serve.queue.queue import LONGEST, read_queue
from assay.serve.submissions.stats import Stats
from assay.serve.submissions.submission import read_submission
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.present import repository_url
from assay.web.operations.pages import verbs_for
from assay.web.queue.query import is_mine, queue_query
from assay.web.skills.pages import scan_of

PAGE = 50
REFRESH_SECONDS = 2
# Long enough to fill in the form.
LIST_REFRESH_SECONDS = 10
STREAM = "/api/v1/submissions/stream"
SORTS = {
    Sort.CREATED_AT: "newest first",
    Sort.UPDATED_AT: "last changed first",
    Sort.SKILL_NAME: "name",
    Sort.STATE: "state",
    Sort.PROCESSING_ORDER: "order of processing",
}
Choice = TypeVar("Choice", bound=StrEnum)
# A form sends its empty fields, too: here "" is the same as nothing.
Field = Annotated[str, QueryParameter(max_length=500)]


@get("/queue", opt=PUBLIC, include_in_schema=False)
async def queue(
    assay: Assay,
    caller: CalledBy,
    q: Field = "",
    category: FromQuery[Category | None] = None,
    source: Field = "",
    reason: Field = "",
    repo_url: Annotated[str, QueryParameter(name="repoUrl", max_length=500)] = "",
    mine: Annotated[bool, QueryParameter()] = False,
    sort: Field = "",
    direction: Annotated[str, QueryParameter(name="dir", max_length=4)] = "",
    cursor: Annotated[str | None, QueryParameter(max_length=1000)] = None,
) -> Template:
    """Everything that was submitted, or what is asked for."""
    sorted_by = _choice(Sort, "sort", sort) or Sort.CREATED_AT
    query = queue_query(
        web_url=assay.settings.github_web_url,
        git_hosts=assay.settings.git_hosts,
        caller=caller,
        category=category,
        reason=reason.strip() or None,
        repo_url=repo_url.strip() or None,
        q=q if q.strip() else None,
        source=_choice(Origin, "source", source),
        mine=mine,
        sort=sorted_by,
        direction=_choice(Direction, "dir", direction),
        limit=PAGE,
        cursor=cursor,
    )
    async with assay.store.snapshot() as db:
        page = await read_queue(db, query, assay.clock.now())
    given = {"q": q, "source": source, "reason": reason, "repoUrl": repo_url, "sort": sort, "dir": direction}
    kept = {name: value for name, value in given.items() if value} | ({"mine": "1"} if mine else {})
    here = kept | ({"category": category.value} if category else {})
    context = {
        "page": page,
        "chosen": category,
        "tabs": _tabs(page.stats, kept, sorted_by),
        "origins": list(Origin),
        "sorts": SORTS,
        "sorted_by": sorted_by,
        "given": {**given, "mine": mine},
        "is_filtered": query.filters.are_narrow,
        "longest": LONGEST,
        "more": {**here, "cursor": page.next_cursor} if page.next_cursor else None,
        "refresh": LIST_REFRESH_SECONDS if page.stats.by_category[Category.ACTIVE] and cursor is None else None,
        "stream": STREAM,
    }
    return Template("queue/queue.html", context=context)


@get("/submissions/{submission_id:uuid}", opt=PUBLIC, include_in_schema=False)
async def submission(assay: Assay, caller: CalledBy, submission_id: FromPath[UUID]) -> Template:
    """Where it stands, why, and what to do next."""
    async with assay.store.snapshot() as db:
        detail = await read_submission(db, submission_id, assay.clock.now())
        is_refused = detail.submission.state in OPEN_TO_REVIEW and detail.submission.content_digest is not None
        asks = is_refused or detail.appeal is not None
        is_author = asks and caller.is_signed_in and await owns_submission(db, caller, detail.submission)
    context = {
        "detail": detail,
        "submission": detail.submission,
        "mine": is_mine(detail.submission.submitter, caller),
        "repo_url": repository_url(detail.submission.repository.name, assay.settings.github_web_url),
        "refresh": REFRESH_SECONDS if detail.submission.state in ACTIVE else None,
        "stream": f"{STREAM}/{submission_id}",
        "verbs": verbs_for(detail.submission) if caller.is_admin else (),
        "judgement": scan_of(detail.scans, 2),
        "shows_appeal": is_author or caller.is_admin,
        # Who may review need not appeal.
        "may_appeal": is_refused and is_author and not caller.is_admin,
        "could_appeal": is_refused and not caller.is_signed_in,
        "review_url": f"/admin/reviews/{submission_id}" if detail.submission.state in OPEN_TO_REVIEW else None,
    }
    return Template("submissions/submission.html", context=context)


def _tabs(stats: Stats, kept: dict[str, str], sorted_by: Sort) -> list[tuple[Category | None, int, dict[str, str]]]:
    """Every category with its number, and the parameters that lead there; what makes no sense there is left out."""
    unsorted = {name: value for name, value in kept.items() if name not in ("sort", "dir")}
    tabs: list[tuple[Category | None, int, dict[str, str]]] = [(None, stats.total, kept)]
    for category, number in stats.by_category.items():
        is_sorted = sorted_by is not Sort.PROCESSING_ORDER or category is Category.ACTIVE
        tabs.append((category, number, {**(kept if is_sorted else unsorted), "category": category.value}))
    return tabs


def _choice(kind: type[Choice], name: str, text: str) -> Choice | None:
    try:
        return kind(text) if text else None
    except ValueError:
        raise Invalid(f"{name}: it is one of {', '.join(kind)}.", code="bad_filter") from None
