"""The queue while the database is away: what was under way then. What is decided is not in the copy: it is unknown."""

from collections import Counter
from typing import Any
from uuid import UUID

from litestar import Response
from litestar.response import Template

from assay.model.account import ANONYMOUS
from assay.model.errors import Unavailable
from assay.model.submission import ACTIVE, Category, Origin, State, Submission
from assay.model.submission_list import Direction, Sort
from assay.serve.operations.edge_copy import Origin as Source
from assay.serve.queue.queue import QueueQuery
from assay.serve.skills.edge_lists import page_of_submissions
from assay.web.http.degraded_mark import Mark
from assay.web.http.degraded_request import Asked
from assay.web.http.present import present_submission, repository_url
from assay.web.queue.pages import PAGE
from assay.web.queue.query import queue_query


async def list_submissions(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/submissions`. Positions are unknown, so none is given."""
    query = _query(asked, asked.number("limit", 50))
    page, total = page_of_submissions(await asked.assay.copy.submissions(), query)
    mark = await _mark(asked)
    body = {
        "submissions": [present_submission(each, asked.assay.settings.github_web_url) for each in page],
        "total": total,
        "totalIsExact": False,
        "nextCursor": None,
        "queuePositions": {},
        "generatedAt": mark.as_of,
    }
    return mark.json(body)


async def get_submission(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/submissions/{id}`, if it was under way; of others nothing is known."""
    found = await _under_way(asked)
    return (await _mark(asked)).json(present_submission(found, asked.assay.settings.github_web_url))


async def submission_page(asked: Asked) -> Template:
    """`/submissions/{id}`, if it was under way."""
    found = await _under_way(asked)
    repo_url = repository_url(found.repository.name, asked.assay.settings.github_web_url)
    return (await _mark(asked)).page("submissions/degraded.html", {"submission": found, "repo_url": repo_url})


async def count_submissions(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/submissions/stats`: what was under way, and how many are listed. The rest is unknown: null."""
    states = Counter(each.state for each in await asked.assay.copy.submissions())
    catalogue, mark = await asked.assay.copy.snapshot(), await _mark(asked)
    body = {
        "total": None,
        **dict.fromkeys(category.value for category in Category),
        Category.ACTIVE.value: states.total(),
        "byState": {state.value: states[state] if state in ACTIVE else None for state in State},
        "skills": None if catalogue.origin is Source.STARTER else len(catalogue.cards),
        "generatedAt": mark.as_of,
    }
    return mark.json(body)


async def queue_page(asked: Asked) -> Template:
    """`/queue`."""
    page, total = page_of_submissions(await asked.assay.copy.submissions(), _query(asked, PAGE))
    context = {"submissions": page, "total": total}
    return (await _mark(asked)).page("queue/degraded.html", context)


async def _under_way(asked: Asked) -> Submission:
    """That it is not in the copy does not mean that there is no such submission."""
    found = await asked.assay.copy.find_submission(UUID(asked.path("submission_id")))
    if found is None:
        raise Unavailable(
            "The database does not answer, and only what is under way is known without it. Ask again when it is back.",
            code="database_unavailable",
            retry_after_seconds=5,
        )
    return found


def _query(asked: Asked, limit: int) -> QueueQuery:
    mine = asked.flag("mine")
    return queue_query(
        web_url=asked.assay.settings.github_web_url,
        caller=asked.caller if mine else ANONYMOUS,
        state=asked.choice("state", State),
        category=asked.choice("category", Category),
        reason=asked.text("reason"),
        repo_url=asked.text("repoUrl"),
        q=asked.text("q"),
        source=asked.choice("source", Origin),
        mine=mine,
        sort=asked.choice("sort", Sort) or Sort.CREATED_AT,
        direction=asked.choice("dir", Direction) or asked.choice("sortDir", Direction),
        limit=limit,
        offset=asked.number("offset", 0),
    )


async def _mark(asked: Asked) -> Mark:
    return Mark(Source.ENUMERATION, await asked.assay.copy.as_of(), asked.ignored)
