"""A new look at a skill, asked for on its page."""

from litestar import post
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.moderation.rescan import ask_for_rescan
from assay.serve.skills.catalogue import find_any_listing
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy, WantedName
from assay.web.versions.naming import BY_NAME


@post(
    "/skills/{owner:str}/{repo:str}/{skill:str}/rescan",
    opt=ACCOUNT,
    dependencies=BY_NAME,
    include_in_schema=False,
)
async def rescan_form(assay: Assay, caller: CalledBy, wanted: WantedName) -> Redirect:
    """Ask for it, then show the submission that is looked at."""
    async with assay.store.begin() as db:
        accepted = await ask_for_rescan(db, await find_any_listing(db, wanted), caller, assay.clock)
    return Redirect(f"/submissions/{accepted.submission.id}", status_code=HTTP_303_SEE_OTHER)
