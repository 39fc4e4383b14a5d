"""Appeals against the refusal of a submission."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.moderation import MAX_STATEMENT_LENGTH, MIN_STATEMENT_LENGTH
from assay.moderation.appeal import file_appeal
from assay.web.http.access import OWNER
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES, Body
from assay.web.http.limits import LimitClass, rate_limit
from assay.web.submissions.json import AppealView, present_appeal


class AppealBody(Body, frozen=True):
    """An explanation of why the refusal is a mistake."""

    text: Annotated[str, msgspec.Meta(min_length=MIN_STATEMENT_LENGTH, max_length=MAX_STATEMENT_LENGTH)]


@post(
    "/{submission_id:str}/appeal",
    summary="Appeal against a refusal",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 429, 503),
    opt=OWNER,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def appeal_submission(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: JSONBody[AppealBody]
) -> AppealView:
    """Ask a reviewer to decide about a refused submission.

    Only the submitter and the owner of the repository may appeal, and only once for the same content.
    """
    limit = rate_limit(assay.settings, LimitClass.APPEALS, caller)
    async with assay.store.begin() as db:
        appeal = await file_appeal(db, submission_id, data.text, caller, limit, assay.clock)
    return present_appeal(appeal, with_text=True)
