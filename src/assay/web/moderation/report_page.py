"""A security report from the page of a skill, and the page of its receipt."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.blocklist import Threat
from assay.model.security_report import LONGEST
from assay.moderation.report import Told, report
from assay.serve.skills.catalogue import find_any_listing
from assay.store.moderation.security_reports import get_report
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, CalledBy, WantedName
from assay.web.versions.naming import BY_NAME

# A character may need twelve bytes in a form.
FORM_BYTES = 12 * LONGEST + 1_000


class ReportForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is wrong with the live version; a form ends its lines with two characters."""

    category: Threat
    text: Annotated[str, msgspec.Meta(max_length=2 * LONGEST)]


@post(
    "/skills/{owner:str}/{repo:str}/{skill:str}/reports",
    opt=PUBLIC,
    dependencies=BY_NAME,
    include_in_schema=False,
    request_max_body_size=FORM_BYTES,
)
async def report_form(
    assay: Assay,
    caller: CalledBy,
    request: Request[Any, Any, Any],
    wanted: WantedName,
    data: URLEncodedBody[ReportForm],
) -> Redirect:
    """Write it down, then show the receipt."""
    told = Told(data.category, data.text, None, request.client.host if request.client else "")
    async with assay.store.begin() as db:
        written = await report(db, await find_any_listing(db, wanted), told, caller, assay.clock)
    return Redirect(f"/reports/{written.id}", status_code=HTTP_303_SEE_OTHER)


@get("/reports/{report_id:uuid}", opt=PUBLIC, include_in_schema=False)
async def receipt(assay: Assay, report_id: FromPath[UUID]) -> Template:
    """What has become of a report, for whoever has its id; not what it says."""
    async with assay.store.snapshot() as db:
        found = await get_report(db, report_id)
    return Template("moderation/receipt.html", context={"report": found})
