"""The form of an appeal, on the page of a submission."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.appeal import LONGEST
from assay.moderation.appeal import appeal
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy

# A character may need twelve bytes in a form.
FORM_BYTES = 12 * LONGEST + 1_000


class AppealForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the refusal is a mistake; a form ends its lines with two characters."""

    text: Annotated[str, msgspec.Meta(max_length=2 * LONGEST)]


@post(
    "/submissions/{submission_id:uuid}/appeal",
    opt=ACCOUNT,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def appeal_form(
    assay: Assay, caller: CalledBy, submission_id: FromPath[UUID], data: URLEncodedBody[AppealForm]
) -> Redirect:
    """Appeal, then show the submission again."""
    async with assay.store.begin() as db:
        await appeal(db, submission_id, data.text, caller, assay.clock)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)
