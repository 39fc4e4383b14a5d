"""The page of one skill."""

from asyncio import to_thread

import structlog
from litestar import get
from litestar.params import FromPath
from litestar.response import Template

from assay.model.capability import Capabilities
from assay.model.errors import NotFound, Unavailable
from assay.scan.front_matter import read_front_matter
from assay.serve.catalogue import SkillDetail, read_skill
from assay.web.access import PUBLIC
from assay.web.api.present import repository_url
from assay.web.given import Assay
from assay.web.pages.markdown import render_markdown

log = structlog.get_logger()


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
        "instructions": await _instructions(assay, detail),
    }
    return Template("skill.html", context=context)


def _capabilities(detail: SkillDetail) -> Capabilities:
    """What the last static scan saw the skill reach for; others look for other things."""
    return next((scan.report.capabilities for scan in detail.scans if scan.tier == 1), Capabilities())


async def _instructions(assay: Assay, detail: SkillDetail) -> str | None:
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
