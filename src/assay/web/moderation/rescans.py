"""Rescans of a listing, requested by anyone who is signed in."""

from litestar import Response, post
from litestar.params import FromPath
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.moderation.rescan import request_rescan
from assay.serve.skills.catalogue import find_any_listing
from assay.web.http.access import ACCOUNT, SUBMITTING
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems, response_spec
from assay.web.http.limits import LimitClass, rate_limit
from assay.web.submissions.submit_json import AcceptedView, present_accepted
from assay.web.versions.naming import name_in_path


@post(
    "/{owner:str}/{repo:str}/{skill:str}/rescan",
    summary="Request a rescan",
    status_code=HTTP_200_OK,
    responses={
        HTTP_201_CREATED: response_spec(AcceptedView, "A new submission was created."),
        **problems(300, 400, 401, 403, 404, 409, 429, 503),
    },
    opt=ACCOUNT | SUBMITTING,
)
async def rescan(
    assay: Assay, caller: CalledBy, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]
) -> Response[AcceptedView]:
    """Fetch and examine the current upstream content of a listing.

    By default limited to 20 requests a day for an account and one an hour for a listing. While a rescan is in progress,
    further requests return it.
    """
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, name_in_path(owner, repo, skill))
        limit = rate_limit(assay.settings, LimitClass.RESCANS, caller)
        accepted = await request_rescan(db, listing, caller, limit, assay.clock)
    status, view = present_accepted(accepted, assay.settings.base_url)
    return Response(view, status_code=status)
