"""The catalogue while the database is away."""

import asyncio
from typing import Any

from litestar import Response
from litestar.response import Template

from assay.model.errors import Invalid, NotFound
from assay.serve.operations.edge_copy import Origin, Snapshot
from assay.serve.skills.edge_lists import page_of_cards, search_cards
from assay.serve.skills.query import LONGEST, SHORTEST, SkillQuery, normalised
from assay.serve.skills.search import Facets, Hit, SkillPage
from assay.serve.skills.starter import find_starters, starter_skills
from assay.serve.versions.versions import VersionsPage
from assay.store.skills.listed import Listed
from assay.web.http.degraded_mark import Mark
from assay.web.http.degraded_request import Asked
from assay.web.skills.list_page import PAGE
from assay.web.skills.listing import read_text
from assay.web.skills.lists import SEARCH_SOURCE
from assay.web.skills.pages import skill_context
from assay.web.skills.present import present_hits, present_list
from assay.web.versions.naming import wanted_name
from assay.web.versions.present import present_listing, present_versions

NEWEST = 6
# Filters, orders and numbers need the database.
FIELDS = ("q", "category", "tier", "labels", "author", "source", "minTrust", "sort")
UNFILTERED: dict[str, object] = {
    "categories": [],
    "tiers": [],
    "trusts": [],
    "sorts": {},
    "sorted_by": None,
    "is_narrowed": False,
    "is_first": True,
}


async def list_skills(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills`."""
    snapshot = await asked.assay.copy.snapshot()
    query = SkillQuery(_words(asked), limit=asked.number("limit", 50), cursor=asked.text("cursor"))
    if snapshot.origin is Origin.STARTER:
        starters = find_starters(query.words) if query.words else starter_skills()
        shown = _starters(asked, starters[: query.limit])
        return _found(asked, snapshot, {"skills": shown, "total": 0, "totalIsExact": False, "nextCursor": None})
    page = await _page(asked, snapshot, query)
    return _found(asked, snapshot, present_list(page, query, asked.assay.settings.github_web_url))


async def search_skills(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills/search`."""
    snapshot = await asked.assay.copy.snapshot()
    limit, offset = asked.number("limit", 10), asked.number("offset", 0)
    words = _words(asked)
    if words is None:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    query = SkillQuery(words, limit=limit, offset=offset)
    if snapshot.origin is Origin.STARTER:
        found = find_starters(words)
        pagination = {"limit": limit, "offset": offset, "hasMore": offset + limit < len(found)}
        shown = _starters(asked, found[offset : offset + limit])
        return _found(asked, snapshot, {"results": shown, "pagination": pagination})
    page = await _page(asked, snapshot, query)
    return _found(asked, snapshot, present_hits(page, query, asked.assay.settings.github_web_url))


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
    listing = await asked.assay.copy.find(name)
    text = await read_text(asked.assay, listing)
    settings = asked.assay.settings
    is_trusted = settings.is_trusted(listing.skill.repository)
    view = present_listing(listing, text, settings.github_web_url, asked.assay.ruleset.version, is_trusted=is_trusted)
    return _mark(asked, snapshot).json(view)


async def list_versions(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/skills/{owner}/{repo}/{skill}/versions`, all on one page; tags are not in the copy."""
    snapshot = await asked.assay.copy.snapshot()
    listing = await asked.assay.copy.find(_name(asked))
    page = VersionsPage(listing.skill, listing.versions, listing.summaries, listing.tags, None)
    return _mark(asked, snapshot).json(present_versions(page))


async def home_page(asked: Asked) -> Template:
    """`/`."""
    snapshot = await asked.assay.copy.snapshot()
    newest = await asked.assay.copy.skills(list(snapshot.cards[:NEWEST]))
    context = {"newest": newest, "total": len(snapshot.cards), "starters": _starter_cards(snapshot)[:NEWEST]}
    return _mark(asked, snapshot).page("skills/degraded_home.html", context)


async def skills_page(asked: Asked) -> Template:
    """`/skills`."""
    snapshot = await asked.assay.copy.snapshot()
    words = _words(asked)
    query = SkillQuery(words, limit=PAGE, cursor=asked.text("cursor"), offset=asked.number("offset", 0))
    if snapshot.origin is Origin.STARTER:
        page, starters = _empty(), list(find_starters(words) if words else starter_skills())
    else:
        page, starters = await _page(asked, snapshot, query), []
    return _mark(asked, snapshot).page("skills/list.html", _context(words or "", page, query, starters))


async def skill_page(asked: Asked) -> Template:
    """`/skills/{owner}/{repo}/{skill}`."""
    snapshot = await asked.assay.copy.snapshot()
    name = _name(asked)
    if snapshot.origin is Origin.STARTER:
        starters = [each for each in starter_skills() if each.full_name == name.lower()]
        if not starters:
            raise NotFound(f"{name} is not in the starter catalogue.", code="skill_not_found")
        return _mark(asked, snapshot).page("skills/list.html", _context("", _empty(), SkillQuery(), starters))
    listing = await asked.assay.copy.find(name)
    context = await skill_context(asked.assay, listing)
    return _mark(asked, snapshot).page("skills/skill.html", context)


async def _page(asked: Asked, snapshot: Snapshot, query: SkillQuery) -> SkillPage:
    """A page as the database would give it, as far as the copy knows."""
    if query.words is None:
        page = page_of_cards(snapshot, cursor=query.cursor, limit=query.limit)
        cards, more, total = page.cards, page.next_cursor, len(snapshot.cards)
    else:
        found = await asyncio.to_thread(search_cards, snapshot, query.words)
        cards, more, total = found[query.offset : query.offset + query.limit], None, len(found)
    hits = [Hit(Listed(skill)) for skill in await asked.assay.copy.skills(cards)]
    return SkillPage(hits, total, query.words is None, more, Facets(None, None, are_exact=False))


def _context(words: str, page: SkillPage, query: SkillQuery, starters: list[Any]) -> dict[str, object]:
    more = {"cursor": page.next_cursor} if page.next_cursor else None
    if words and query.offset + query.limit < page.total:
        more = {"q": words, "offset": str(query.offset + query.limit)}
    given = {**dict.fromkeys(FIELDS, ""), "q": words}
    return {**UNFILTERED, "given": given, "q": words, "page": page, "more": more, "starters": starters}


def _empty() -> SkillPage:
    return SkillPage([], 0, False, None, Facets(None, None, are_exact=False))


def _mark(asked: Asked, snapshot: Snapshot) -> Mark:
    return Mark(snapshot.origin, snapshot.as_of, asked.ignored)


def _found(asked: Asked, snapshot: Snapshot, body: object) -> Response[dict[str, Any]]:
    """Lists and searches say where they looked, as they do with the database."""
    return _mark(asked, snapshot).json(body, **{SEARCH_SOURCE: snapshot.origin.value})


def _name(asked: Asked) -> str:
    if "name" in asked.request.path_params:
        return asked.path("name")
    return wanted_name(*(asked.path(part) for part in ("owner", "repo", "skill")))


def _words(asked: Asked) -> str | None:
    given = asked.text("q")
    if given is None:
        return None
    wanted = normalised(given, asked.assay.settings.github_web_url)
    if not SHORTEST <= len(wanted) <= LONGEST:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    return wanted


def _starters(asked: Asked, starters: Any) -> list[dict[str, Any]]:
    return [each.shown(asked.assay.settings.github_web_url) for each in starters]


def _starter_cards(snapshot: Snapshot) -> list[Any]:
    return list(starter_skills()) if snapshot.origin is Origin.STARTER else []
