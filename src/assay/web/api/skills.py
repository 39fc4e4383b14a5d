"""The catalogue: list, search, one skill."""

from typing import Annotated

from litestar import Router, get
from litestar.params import FromPath, QueryParameter

from assay.serve.catalogue import read_catalogue, read_skill
from assay.serve.search import find_skills
from assay.web.access import PUBLIC
from assay.web.api.present import present_skill, present_skill_detail
from assay.web.api.problems import problems
from assay.web.api.views import SearchPagination, SearchView, SkillDetailView, SkillPageView
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


@get("/{owner:str}/{repo:str}/{skill:str}", summary="One skill", responses=problems(400, 404, 503))
async def get_skill(assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> SkillDetailView:
    """The listing with its versions, hallmarks, files and findings."""
    async with assay.store.snapshot() as db:
        detail = await read_skill(db, f"{owner}/{repo}/{skill}")
    return present_skill_detail(detail, assay.settings.github_web_url)


router = Router("/api/v1/skills", tags=["skills"], opt=PUBLIC, route_handlers=[list_skills, search_skills, get_skill])
