"""The catalogue: one skill; lists and searches are beside it."""

from litestar import Router, get
from litestar.params import FromPath

from assay.serve.catalogue import read_skill
from assay.web.access import PUBLIC
from assay.web.api.present import present_skill_detail
from assay.web.api.problems import problems
from assay.web.api.skill_lists import list_skills, search_skills
from assay.web.api.views import SkillDetailView
from assay.web.given import Assay


@get("/{owner:str}/{repo:str}/{skill:str}", summary="One skill", responses=problems(400, 404, 503))
async def get_skill(assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> SkillDetailView:
    """The listing with its versions, hallmarks, files and findings."""
    async with assay.store.snapshot() as db:
        detail = await read_skill(db, f"{owner}/{repo}/{skill}")
    return present_skill_detail(detail, assay.settings.github_web_url)


router = Router("/api/v1/skills", tags=["skills"], opt=PUBLIC, route_handlers=[list_skills, search_skills, get_skill])
