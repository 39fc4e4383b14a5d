"""The list of skills, with search, and the page of one skill."""

from typing import Annotated

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Template

from assay.model.errors import NotFound
from assay.scan.front_matter import read_front_matter
from assay.serve.catalogue import SkillDetail, read_catalogue, read_skill
from assay.serve.search import find_skills
from assay.web.api.present import repository_url
from assay.web.given import Assay
from assay.web.pages.markdown import render_markdown

PAGE = 30


@get("/skills", include_in_schema=False)
async def skills(
    assay: Assay,
    q: FromQuery[str | None] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
    offset: Annotated[int, QueryParameter(ge=0, le=1000)] = 0,
) -> Template:
    """All skills, or those that match."""
    context: dict[str, object] = {"q": q or "", "more": None, "total": None}
    async with assay.store.snapshot() as db:
        if q and len(q.strip()) >= 2:
            found = await find_skills(db, q, limit=PAGE, offset=offset)
            more = {"q": q, "offset": offset + PAGE} if found.has_more else None
            context |= {"skills": found.skills, "more": more}
        else:
            page = await read_catalogue(db, cursor=cursor, limit=PAGE)
            more = {"cursor": page.next_cursor} if page.next_cursor else None
            context |= {"skills": page.skills, "more": more, "total": page.total}
    return Template("skills.html", context=context)


@get("/skills/{owner:str}/{repo:str}/{skill:str}", include_in_schema=False)
async def skill(assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> Template:
    """One skill: what it says, what was found, what can be checked."""
    async with assay.store.snapshot() as db:
        detail = await read_skill(db, f"{owner}/{repo}/{skill}")
    context = {
        "detail": detail,
        "skill": detail.skill,
        "scan": detail.scans[0] if detail.scans else None,
        "repo_url": repository_url(detail.skill.repository, assay.settings.github_web_url),
        "instructions": await _instructions(assay, detail),
    }
    return Template("skill.html", context=context)


async def _instructions(assay: Assay, detail: SkillDetail) -> str | None:
    """The SKILL.md as HTML; None if its bytes are gone, which the page says instead of showing nothing."""
    file = next((file for file in detail.files if file.path == "SKILL.md"), None)
    if file is None:
        return None
    try:
        content = await assay.blobs.get(f"sha256:{file.sha256}")
    except NotFound:
        return None
    return render_markdown(read_front_matter(content).body)
