"""Versions under control: withdraw one, so that nobody gets it any more."""

from litestar import Router, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.errors import NotFound
from assay.moderation.withdraw import remark, withdraw
from assay.serve.skills.catalogue import find_any_listing
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy, WantedName
from assay.web.http.problems import problems
from assay.web.versions.json import StandingView, WhyBody
from assay.web.versions.naming import BY_NAME
from assay.web.versions.present import present_standing


@post(
    "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}/withdraw",
    summary="Withdraw a version",
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 401, 403, 404, 409, 413, 415, 503),
)
async def withdraw_version(
    assay: Assay,
    caller: CalledBy,
    wanted: WantedName,
    version: FromPath[str],
    data: JSONBody[WhyBody],
) -> StandingView:
    """Nobody gets it any more, whoever asks; the one before is live again. There is no way back but a new version."""
    why = remark("withdrawn", data.reason, at=assay.clock.now(), by=caller.name)
    if "\x00" in version:  # the database would refuse the question instead of answering it
        raise NotFound(f"There is no version {version!r}.", code="version_not_found")
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, wanted)
        return present_standing(await withdraw(db, listing.name, version, why))


router = Router(
    "/api/v1/admin/skills", tags=["admin"], opt=ADMIN, dependencies=BY_NAME, route_handlers=[withdraw_version]
)
