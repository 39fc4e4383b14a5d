"""The list of skills, with search, and the page of one skill."""

from asyncio import to_thread
from collections.abc import Sequence
from typing import Annotated

import structlog
from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Template

from assay.app import App
from assay.model.capability import Capabilities
from assay.model.errors import Invalid, NotFound, Unavailable
from assay.scan.front_matter import read_front_matter
from assay.serve.catalogue import CataloguePage, SkillDetail, read_catalogue, read_skill
from assay.serve.search import DEEPEST, find_skills
from assay.serve.starter import StarterSkill, starter_skills
from assay.web.access import PUBLIC
from assay.web.api.present import repository_url
from assay.web.given import Assay
from assay.web.pages.markdown import render_markdown

log = structlog.get_logger()
PAGE = 30


@get("/skills", opt=PUBLIC, include_in_schema=False)
async def skills(
    assay: Assay,
    q: FromQuery[str | None] = None,
    cursor: Annotated[str | None, QueryParameter(max_length=200)] = None,
    offset: Annotated[int | None, QueryParameter(ge=0, le=DEEPEST)] = None,
) -> Template:
    """All skills, or those that match."""
    if q and q.strip():
        if cursor is not None:
            raise Invalid("cursor: hits of a search are paged by offset.", code="bad_cursor")
        return await _hits(assay, q, offset or 0)
    if offset is not None:
        raise Invalid("offset: the whole list is paged by cursor.", code="bad_offset")
    async with assay.store.snapshot() as db:
        page = await read_catalogue(db, cursor=cursor, limit=PAGE)
    more = {"cursor": page.next_cursor} if page.next_cursor else None
    return Template(
        "skills.html",
        context={"q": "", "skills": page.skills, "total": page.total, "more": more, "starters": _starters(page)},
    )


@get("/skills/{owner:str}/{repo:str}/{skill:str}", opt=PUBLIC, include_in_schema=False)
async def skill(assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> Template:
    """One skill: what it says, what was found, what can be checked."""
    async with assay.store.snapshot() as db:
        detail = await read_skill(db, f"{owner}/{repo}/{skill}")
    context = {
        "detail": detail,
        "skill": detail.skill,
        "scan": detail.scans[0] if detail.scans else None,
        "capabilities": _capabilities(detail),
        "repo_url": repository_url(detail.skill.repository, assay.settings.github_web_url),
        "instructions": await instructions_of(assay, detail),
    }
    return Template("skill.html", context=context)


async def _hits(assay: Assay, q: str, offset: int) -> Template:
    async with assay.store.snapshot() as db:
        found = await find_skills(db, q, web_url=assay.settings.github_web_url, limit=PAGE, offset=offset)
    onward = offset + PAGE
    more = {"q": q, "offset": onward} if found.has_more and onward <= DEEPEST else None
    return Template(
        "skills.html", context={"q": q, "skills": found.skills, "total": None, "more": more, "starters": ()}
    )


def _starters(page: CataloguePage) -> Sequence[StarterSkill]:
    """What could be submitted, where there is nothing else to show."""
    return starter_skills() if page.total == 0 else ()


def _capabilities(detail: SkillDetail) -> Capabilities:
    """What the last static scan saw the skill reach for; others look for other things."""
    return next((scan.report.capabilities for scan in detail.scans if scan.tier == 1), Capabilities())


async def instructions_of(assay: App, detail: SkillDetail) -> str | None:
    """The SKILL.md as HTML; None if its bytes cannot be had, which the page says: the rest of it still stands."""
    file = next((file for file in detail.files if file.path == "SKILL.md"), None)
    if file is None:
        return None
    try:
        content = await assay.blobs.read_file(detail.skill.content_digest, "SKILL.md")
    except (NotFound, Unavailable) as problem:
        log.warning("A page shows no instructions", skill=detail.skill.name, problem=problem.message)
        return None
    # In a thread, because a hostile text takes seconds, which other readers need not wait for.
    return await to_thread(render_markdown, read_front_matter(content).body)
