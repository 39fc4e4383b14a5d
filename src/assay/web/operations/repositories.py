"""Adopting a repository that was deleted and created again under the same name."""

from litestar import Router, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.operations.adopt import adopt_repository
from assay.submit.validate import parse_repository_url
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import View
from assay.web.versions.json import ReasonBody


class AdoptedView(View, frozen=True):
    """The repository, and its former and present numeric ids at GitHub."""

    repository: str
    former_id: int
    present_id: int


@post(
    "/{owner:str}/{repo:str}/adopt",
    summary="Adopt a recreated repository",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
)
async def adopt(
    assay: Assay, caller: CalledBy, owner: FromPath[str], repo: FromPath[str], data: JSONBody[ReasonBody]
) -> AdoptedView:
    """Attach the listings of a repository, with owner and installs, to the one that now has its name on GitHub."""
    web_url = assay.settings.github_web_url
    name, _ = parse_repository_url(f"{web_url}/{owner}/{repo}", web_url)
    present = await assay.github.get_repository(name)
    async with assay.store.begin() as db:
        adopted = await adopt_repository(db, name, present, reason=data.reason, by=caller.name)
    return AdoptedView(
        repository=str(adopted.repository.name), former_id=adopted.former_id, present_id=adopted.present_id
    )


router = Router("/api/v1/admin/repositories", tags=["admin"], opt=ADMIN, route_handlers=[adopt])
