"""Appeals: what the author of a refused submission says against it."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.appeal import LONGEST, SHORTEST
from assay.moderation.appeal import appeal
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import AppealView
from assay.web.http.present import present_appeal
from assay.web.http.problems import problems
from assay.web.submissions.json import LARGEST_REQUEST_BYTES, Body


class AppealBody(Body, frozen=True):
    """Why the refusal is a mistake."""

    text: Annotated[str, msgspec.Meta(min_length=SHORTEST, max_length=LONGEST)]


@post(
    "/{submission_id:str}/appeal",
    summary="Appeal",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 429, 503),
    opt=ACCOUNT,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def appeal_submission(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[AppealBody]
) -> AppealView:
    """Once for the same files, by whoever submitted them or owns the repository: a reviewer looks and answers."""
    async with assay.store.begin() as db:
        return present_appeal(await appeal(db, submission_id, data.text, caller, assay.clock), with_text=True)
