"""Repositories under control: say that one which was made anew is still the one that is listed."""

from litestar import Router, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.operations.adopt import adopt_repository
from assay.submit.validate import parse_repository_url
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.versions.json import WhyBody


class AdoptedView(View, frozen=True):
    """The repository, and the numbers that GitHub gave to it before and now."""

    repository: str
    former_id: int
    present_id: int


@post(
    "/{owner:str}/{repo:str}/adopt",
    summary="Adopt a repository that was made anew",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
)
async def adopt(
    assay: Assay, caller: CalledBy, owner: FromPath[str], repo: FromPath[str], data: JSONBody[WhyBody]
) -> AdoptedView:
    """Its listings, with their owner and their installs, go on with what has their name on GitHub now."""
    web_url = assay.settings.github_web_url
    name, _ = parse_repository_url(f"{web_url}/{owner}/{repo}", web_url)
    present = await assay.github.get_repository(name)
    async with assay.store.begin() as db:
        adopted = await adopt_repository(db, name, present, reason=data.reason, by=caller.name)
    return AdoptedView(
        repository=str(adopted.repository.name), former_id=adopted.former_id, present_id=adopted.present_id
    )


router = Router("/api/v1/admin/repositories", tags=["admin"], opt=ADMIN, route_handlers=[adopt])
