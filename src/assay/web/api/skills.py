"""The catalogue: list, search, and the routes of one skill."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from assay.serve.catalogue import read_catalogue
from assay.serve.search import find_skills
from assay.web.access import PUBLIC
from assay.web.api.files import download, get_file, list_version_files
from assay.web.api.installs import check_for_updates, report_install, report_installs
from assay.web.api.listing import get_skill, get_skill_by_name
from assay.web.api.owners import router as owners
from assay.web.api.present import present_skill
from assay.web.api.problems import problems
from assay.web.api.security import get_security
from assay.web.api.versions import compare_versions, diff_versions, get_version, list_versions
from assay.web.api.views import SearchPagination, SearchView, SkillPageView
from assay.web.given import Assay

Limit = Annotated[int, QueryParameter(ge=1, le=100, description="Rows on a page.")]
Cursor = Annotated[str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")]


@get("/", summary="List skills, last updated first", responses=problems(400, 503))
async def list_skills(assay: Assay, cursor: Cursor = None, limit: Limit = 50) -> SkillPageView:
    """All listings, page by page; none comes twice, and one that is updated meanwhile moves to the first page."""
    async with assay.store.snapshot() as db:
        page = await read_catalogue(db, cursor=cursor, limit=limit)
    return SkillPageView(
        skills=[present_skill(skill, assay.settings.github_web_url) for skill in page.skills],
        total=page.total,
        next_cursor=page.next_cursor,
    )


@get("/search", summary="Search skills", responses=problems(400, 503))
async def search_skills(
    assay: Assay,
    q: Annotated[str, QueryParameter(description="Words, a name, `owner/repo`, or a repository URL.")],
    limit: Annotated[int, QueryParameter(ge=1, le=50)] = 10,
    offset: Annotated[int, QueryParameter(ge=0, le=1000)] = 0,
) -> SearchView:
    """A published skill is found from the moment it is published; exact names come first."""
    async with assay.store.snapshot() as db:
        found = await find_skills(db, q, web_url=assay.settings.github_web_url, limit=limit, offset=offset)
    return SearchView(
        results=[present_skill(skill, assay.settings.github_web_url) for skill in found.skills],
        pagination=SearchPagination(limit=limit, offset=offset, has_more=found.has_more),
    )


router = Router(
    "/api/v1/skills",
    tags=["skills"],
    opt=PUBLIC,
    route_handlers=[
        list_skills,
        search_skills,
        get_skill,
        get_skill_by_name,
        list_versions,
        get_version,
        diff_versions,
        compare_versions,
        list_version_files,
        get_file,
        download,
        get_security,
        report_install,
        report_installs,
        check_for_updates,
        owners,
    ],
)
