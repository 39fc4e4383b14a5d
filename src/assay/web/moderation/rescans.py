"""Rescans: anybody who is signed in may ask for a new look at a listing."""

from litestar import Response, post
from litestar.params import FromPath
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.moderation.rescan import ask_for_rescan
from assay.serve.skills.catalogue import find_any_listing
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import answer, problems
from assay.web.submissions.json import AcceptedView
from assay.web.submissions.present import present_accepted
from assay.web.versions.naming import wanted_name


@post(
    "/{owner:str}/{repo:str}/{skill:str}/rescan",
    summary="Ask for a rescan",
    status_code=HTTP_200_OK,
    responses={
        HTTP_201_CREATED: answer(AcceptedView, "A new submission."),
        **problems(300, 400, 401, 403, 404, 409, 429, 503),
    },
    opt=ACCOUNT,
)
async def rescan(
    assay: Assay, caller: CalledBy, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]
) -> Response[AcceptedView]:
    """20 a day for an account and one an hour for a listing; while one is under way it is the same one."""
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, wanted_name(owner, repo, skill))
        accepted = await ask_for_rescan(db, listing, caller, assay.clock)
    status, view = present_accepted(accepted, assay.settings.base_url)
    return Response(view, status_code=status)
