"""The catalogue while the database is away."""

import asyncio
from typing import Any

from litestar import Response
from litestar.response import Template

from assay.model.capability import Capabilities
from assay.model.errors import Invalid, NotFound
from assay.model.skill import Skill
from assay.serve.copied_lists import page_of_cards, search_cards
from assay.serve.copy import Origin, Snapshot
from assay.serve.search import LONGEST, SHORTEST, normalised
from assay.serve.starter import find_starters, starter_skills
from assay.web.api.present import present_skill, present_skill_detail, repository_url
from assay.web.degraded.asked import Asked
from assay.web.degraded.mark import Mark
from assay.web.pages.catalogue import PAGE, instructions_of

NEWEST = 6


async def list_skills(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills`."""
    snapshot = await asked.assay.copy.snapshot()
    cursor, limit = asked.text("cursor"), asked.number("limit", 50)
    if snapshot.origin is Origin.STARTER:
        body = {"skills": _starters(asked, starter_skills()[:limit]), "total": 0, "nextCursor": None}
        return _mark(asked, snapshot).json(body)
    page = page_of_cards(snapshot, cursor=cursor, limit=limit)
    skills = await asked.assay.copy.skills(page.cards)
    body = {"skills": _shown(asked, skills), "total": len(snapshot.cards), "nextCursor": page.next_cursor}
    return _mark(asked, snapshot).json(body)


async def search_skills(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills/search`."""
    snapshot = await asked.assay.copy.snapshot()
    wanted, limit, offset = _query(asked), asked.number("limit", 10), asked.number("offset", 0)
    if snapshot.origin is Origin.STARTER:
        starters = find_starters(wanted)
        results = _starters(asked, starters[offset : offset + limit])
        number = len(starters)
    else:
        found = await asyncio.to_thread(search_cards, snapshot, wanted)
        results = _shown(asked, await asked.assay.copy.skills(found[offset : offset + limit]))
        number = len(found)
    pagination = {"limit": limit, "offset": offset, "hasMore": offset + limit < number}
    return _mark(asked, snapshot).json({"results": results, "pagination": pagination})


async def get_skill(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills/{owner}/{repo}/{skill}`."""
    snapshot = await asked.assay.copy.snapshot()
    name = _name(asked)
    if snapshot.origin is Origin.STARTER:
        starter = next((each for each in starter_skills() if each.full_name == name.lower()), None)
        if starter is None:
            raise NotFound(f"{name} is not in the starter catalogue.", code="skill_not_found")
        shown = {"skill": starter.shown(asked.assay.settings.github_web_url), "versions": [], "files": [], "scans": []}
        return _mark(asked, snapshot).json(shown)
    detail = await asked.assay.copy.find(name)
    return _mark(asked, snapshot).json(present_skill_detail(detail, asked.assay.settings.github_web_url))


async def home_page(asked: Asked) -> Template:
    """`/`."""
    snapshot = await asked.assay.copy.snapshot()
    newest = await asked.assay.copy.skills(list(snapshot.cards[:NEWEST]))
    context = {"newest": newest, "total": len(snapshot.cards), "starters": _starter_cards(snapshot)[:NEWEST]}
    return _mark(asked, snapshot).page("degraded/home.html", context)


async def skills_page(asked: Asked) -> Template:
    """`/skills`."""
    snapshot = await asked.assay.copy.snapshot()
    q, cursor, offset = asked.text("q"), asked.text("cursor"), asked.number("offset", 0)
    context: dict[str, object] = {"q": q or "", "skills": [], "total": None, "more": None, "starters": []}
    if snapshot.origin is Origin.STARTER:
        context["starters"] = find_starters(_query(asked)) if q else starter_skills()
    elif q:
        found = await asyncio.to_thread(search_cards, snapshot, _query(asked))
        context["skills"] = await asked.assay.copy.skills(found[offset : offset + PAGE])
        context["more"] = {"q": q, "offset": offset + PAGE} if offset + PAGE < len(found) else None
    else:
        page = page_of_cards(snapshot, cursor=cursor, limit=PAGE)
        context["skills"] = await asked.assay.copy.skills(page.cards)
        context |= {"total": len(snapshot.cards), "more": {"cursor": page.next_cursor} if page.next_cursor else None}
    return _mark(asked, snapshot).page("skills.html", context)


async def skill_page(asked: Asked) -> Template:
    """`/skills/{owner}/{repo}/{skill}`."""
    snapshot = await asked.assay.copy.snapshot()
    name = _name(asked)
    if snapshot.origin is Origin.STARTER:
        starters = [each for each in starter_skills() if each.full_name == name.lower()]
        if not starters:
            raise NotFound(f"{name} is not in the starter catalogue.", code="skill_not_found")
        shown = {"q": "", "skills": [], "total": None, "more": None, "starters": starters}
        return _mark(asked, snapshot).page("skills.html", shown)
    detail = await asked.assay.copy.find(name)
    context = {
        "detail": detail,
        "skill": detail.skill,
        "scan": detail.scans[0] if detail.scans else None,
        "capabilities": next((scan.report.capabilities for scan in detail.scans if scan.tier == 1), Capabilities()),
        "repo_url": repository_url(detail.skill.repository, asked.assay.settings.github_web_url),
        "instructions": await instructions_of(asked.assay, detail),
    }
    return _mark(asked, snapshot).page("skill.html", context)


def _mark(asked: Asked, snapshot: Snapshot) -> Mark:
    return Mark(snapshot.origin, snapshot.as_of, asked.ignored)


def _name(asked: Asked) -> str:
    return "/".join(asked.path(part) for part in ("owner", "repo", "skill"))


def _query(asked: Asked) -> str:
    wanted = normalised(asked.text("q") or "", asked.assay.settings.github_web_url)
    if not SHORTEST <= len(wanted) <= LONGEST:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    return wanted


def _shown(asked: Asked, skills: list[Skill]) -> list[Any]:
    return [present_skill(skill, asked.assay.settings.github_web_url) for skill in skills]


def _starters(asked: Asked, starters: Any) -> list[dict[str, Any]]:
    return [each.shown(asked.assay.settings.github_web_url) for each in starters]


def _starter_cards(snapshot: Snapshot) -> list[Any]:
    return list(starter_skills()) if snapshot.origin is Origin.STARTER else []
