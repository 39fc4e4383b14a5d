"""Submissions while the database is down. The edge copy has only active ones; everything else is unknown."""

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

from litestar import Response
from litestar.response import Template

from assay.model.account import ANONYMOUS
from assay.model.errors import Unavailable
from assay.model.submission import ACTIVE, State, StateGroup, Submission
from assay.serve.operations.edge_copy import EdgeOrigin
from assay.serve.skills.edge_lists import page_of_submissions
from assay.store.database.database import DATABASE_UNAVAILABLE
from assay.web.http.degraded import DegradedMark, DegradedRequest
from assay.web.http.links import repository_url
from assay.web.submissions.json import present_submission
from assay.web.submissions.query import SubmissionListParameters

HEEDED = (
    "state",
    "category",
    "reason",
    "repoUrl",
    "q",
    "source",
    "mine",
    "sort",
    "dir",
    "sortDir",
    "limit",
    "offset",
)


async def list_submissions(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Return active submissions without their positions, which are unknown."""
    page, total = await find_active(request, SubmissionListParameters)
    mark = await mark_submissions(request, *HEEDED)
    body = {
        "submissions": [present_submission(each, request.assay.settings.github_web_url) for each in page],
        "total": total,
        "totalIsExact": False,
        "nextCursor": None,
        "queuePositions": {},
        "generatedAt": mark.as_of,
    }
    return mark.json(body)


async def get_submission(request: DegradedRequest) -> Response[dict[str, Any]]:
    submission = await _find_active_one(request)
    mark = await mark_submissions(request)
    return mark.json(present_submission(submission, request.assay.settings.github_web_url))


async def submission_page(request: DegradedRequest) -> Template:
    submission = await _find_active_one(request)
    repo_url = repository_url(submission.repository.name, request.assay.settings.github_web_url)
    mark = await mark_submissions(request)
    return mark.page("submissions/degraded.html", {"submission": submission, "repo_url": repo_url})


async def count_submissions(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Count active submissions and live listings; the other counts are null."""
    states = Counter(each.state for each in await request.assay.copy.submissions())
    catalogue, mark = await request.assay.copy.snapshot(), await mark_submissions(request)
    body = {
        "total": None,
        **dict.fromkeys(group.value for group in StateGroup),
        StateGroup.ACTIVE.value: states.total(),
        "byState": {state.value: states[state] if state in ACTIVE else None for state in State},
        "skills": None if catalogue.origin is EdgeOrigin.STARTER else len(catalogue.cards),
        "generatedAt": mark.as_of,
    }
    return mark.json(body)


async def find_active(request: DegradedRequest, kind: type[SubmissionListParameters]) -> tuple[list[Submission], int]:
    """Return a page of the active submissions that match the query, and the number of all that match."""
    params = request.parameters(kind)
    query = params.query(request.assay.settings, request.caller if params.mine else ANONYMOUS)
    query = replace(query, cursor=None, offset=query.offset or 0)
    return page_of_submissions(await request.assay.copy.submissions(), query)


async def mark_submissions(request: DegradedRequest, *heeded: str) -> DegradedMark:
    return DegradedMark(EdgeOrigin.ENUMERATION, await request.assay.copy.as_of(), request.ignored(*heeded))


async def _find_active_one(request: DegradedRequest) -> Submission:
    """Return an active submission; raise Unavailable for any other, which may still exist in the database."""
    submission = await request.assay.copy.find_submission(UUID(request.path("submission_id")))
    if submission is None:
        raise Unavailable(
            "The database is unavailable, and only active submissions are known without it. Try again later.",
            code=DATABASE_UNAVAILABLE,
            retry_after_seconds=5,
        )
    return submission
