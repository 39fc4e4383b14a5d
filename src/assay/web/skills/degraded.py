"""The catalogue while the database is down: lists, searches, listings, badges and counts from the edge copy.

If the edge copy is down, too, lists and searches fall back to the starter catalogue, which was never scanned.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from litestar import Response
from litestar.response import Template

from assay.model.errors import Invalid, NotFound
from assay.serve.operations.edge_copy import EdgeOrigin, Snapshot
from assay.serve.skills.edge_lists import page_of_cards, search_cards
from assay.serve.skills.query import MAX_QUERY_LENGTH, MIN_QUERY_LENGTH, SkillQuery, normalised
from assay.serve.skills.search import Facets, Hit, SkillPage
from assay.serve.skills.starter import StarterSkill, find_starters, starter_skills
from assay.store.skills.forks import SkillWithForks
from assay.web.http.degraded import DegradedMark, DegradedRequest
from assay.web.skills.badges import answer_badge, badge_of, parse_file_name
from assay.web.skills.context import listing_view, skill_context
from assay.web.skills.json import present_hits, present_list
from assay.web.skills.query import SkillListParameters, SkillParameters, SkillSearchParameters
from assay.web.versions.degraded import find_listing, marked, requested_name

SEARCH_SOURCE = "X-Search-Source"
# Skills on a page of the list, and on the home page.
PAGE, NEWEST = 30, 6
FIELDS = ("q", "category", "tier", "labels", "author", "source", "minTrust", "sort")
# Filters, orders and counts need the database.
UNFILTERED: dict[str, object] = {
    "categories": [],
    "tiers": [],
    "trusts": [],
    "sorts": {},
    "sorted_by": None,
    "is_narrowed": False,
    "is_first": True,
}
UNKNOWN_COUNTS = (
    "versions",
    "authors",
    "installs",
    "installs7d",
    "installs30d",
    "byCategory",
    "byTier",
    "submissions",
)


async def list_skills(request: DegradedRequest) -> Response[dict[str, Any]]:
    snapshot = await request.assay.copy.snapshot()
    params, web_url = request.parameters(SkillListParameters), request.assay.settings.github_web_url
    query = SkillQuery(_words(params.q, web_url), limit=params.limit, cursor=params.cursor)
    if snapshot.origin is EdgeOrigin.STARTER:
        starters = find_starters(query.words) if query.words else starter_skills()
        skills = _present_starters(starters[: query.limit], web_url)
        body: Any = {"skills": skills, "total": 0, "totalIsExact": False, "nextCursor": None}
    else:
        body = present_list(await _page(request, snapshot, query), query, web_url)
    mark = _mark(request, snapshot, "q", "limit", "cursor")
    return mark.json(body, **{SEARCH_SOURCE: snapshot.origin.value})


async def search_skills(request: DegradedRequest) -> Response[dict[str, Any]]:
    snapshot = await request.assay.copy.snapshot()
    params, web_url = request.parameters(SkillSearchParameters), request.assay.settings.github_web_url
    words, limit, offset = _words(params.q, web_url), params.limit, params.offset or 0
    query = SkillQuery(words, limit=limit, offset=offset)
    if snapshot.origin is EdgeOrigin.STARTER:
        starters = find_starters(words or "")
        results = _present_starters(starters[offset : offset + limit], web_url)
        pagination = {"limit": limit, "offset": offset, "hasMore": offset + limit < len(starters)}
        body: Any = {"results": results, "pagination": pagination}
    else:
        body = present_hits(await _page(request, snapshot, query), query, web_url)
    mark = _mark(request, snapshot, "q", "limit", "offset")
    return mark.json(body, **{SEARCH_SOURCE: snapshot.origin.value})


async def get_skill(request: DegradedRequest) -> Response[dict[str, Any]]:
    snapshot = await request.assay.copy.snapshot()
    name = requested_name(request)
    if snapshot.origin is EdgeOrigin.STARTER:
        starter = _find_starter(name).shown(request.assay.settings.github_web_url)
        return _mark(request, snapshot).json({"skill": starter, "versions": [], "files": [], "scans": []})
    listing = await request.assay.copy.find(name)
    return _mark(request, snapshot).json(await listing_view(request.assay, listing))


async def badge(request: DegradedRequest) -> Response[Any]:
    slug, kind = parse_file_name(request.path("file"))
    listing = await find_listing(request, slug)
    return await marked(request, answer_badge(request.http, badge_of(listing.skill), kind))


async def catalogue_stats(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Return what the edge copy can count; the rest is null. The starter catalogue is not counted."""
    snapshot = await request.assay.copy.snapshot()
    is_known = snapshot.origin is not EdgeOrigin.STARTER
    repositories = {card.name.rpartition("/")[0] for card in snapshot.cards}
    body = {
        **dict.fromkeys(UNKNOWN_COUNTS),
        "skills": len(snapshot.cards) if is_known else None,
        "repositories": len(repositories) if is_known else None,
        "generatedAt": snapshot.as_of,
    }
    return _mark(request, snapshot).json(body)


async def home_page(request: DegradedRequest) -> Template:
    snapshot = await request.assay.copy.snapshot()
    newest = await request.assay.copy.skills(list(snapshot.cards[:NEWEST]))
    starters = starter_skills() if snapshot.origin is EdgeOrigin.STARTER else ()
    context = {"newest": newest, "total": len(snapshot.cards), "starters": starters[:NEWEST]}
    return _mark(request, snapshot).page("skills/degraded_home.html", context)


async def skills_page(request: DegradedRequest) -> Template:
    snapshot = await request.assay.copy.snapshot()
    params = request.parameters(SkillParameters)
    words = _words(params.q, request.assay.settings.github_web_url)
    query = SkillQuery(words, limit=PAGE, cursor=params.cursor)
    starters: Sequence[StarterSkill] = ()
    if snapshot.origin is EdgeOrigin.STARTER:
        page, starters = _empty_page(), find_starters(words) if words else starter_skills()
    else:
        page = await _page(request, snapshot, query)
    mark = _mark(request, snapshot, "q", "cursor")
    return mark.page("skills/list.html", _list_context(words or "", page, starters))


async def skill_page(request: DegradedRequest) -> Template:
    snapshot = await request.assay.copy.snapshot()
    name = requested_name(request)
    if snapshot.origin is EdgeOrigin.STARTER:
        context = _list_context("", _empty_page(), [_find_starter(name)])
        return _mark(request, snapshot).page("skills/list.html", context)
    context = await skill_context(request.assay, await request.assay.copy.find(name))
    return _mark(request, snapshot).page("skills/skill.html", context)


async def _page(request: DegradedRequest, snapshot: Snapshot, query: SkillQuery) -> SkillPage:
    """Return a page like that of the database, as far as the edge copy has its data."""
    if query.words is None:
        page = page_of_cards(snapshot, cursor=query.cursor, limit=query.limit)
        cards, next_cursor, total = page.cards, page.next_cursor, len(snapshot.cards)
    else:
        found = await asyncio.to_thread(search_cards, snapshot, query.words)
        cards, next_cursor, total = found[query.offset : query.offset + query.limit], None, len(found)
    hits = [Hit(SkillWithForks(skill)) for skill in await request.assay.copy.skills(cards)]
    return SkillPage(hits, total, query.words is None, next_cursor, Facets(None, None, are_exact=False))


def _list_context(words: str, page: SkillPage, starters: Sequence[StarterSkill]) -> dict[str, object]:
    more = {"cursor": page.next_cursor} if page.next_cursor else None
    fields = {**dict.fromkeys(FIELDS, ""), "q": words}
    return {**UNFILTERED, "params": fields, "q": words, "page": page, "more": more, "starters": starters}


def _empty_page() -> SkillPage:
    return SkillPage([], 0, False, None, Facets(None, None, are_exact=False))


def _mark(request: DegradedRequest, snapshot: Snapshot, *heeded: str) -> DegradedMark:
    return DegradedMark(snapshot.origin, snapshot.as_of, request.ignored(*heeded))


def _words(q: str | None, web_url: str) -> str | None:
    if q is None:
        return None
    words = normalised(q, web_url)
    if not MIN_QUERY_LENGTH <= len(words) <= MAX_QUERY_LENGTH:
        raise Invalid(f"q: must have {MIN_QUERY_LENGTH} to {MAX_QUERY_LENGTH} characters.", code="bad_query")
    return words


def _find_starter(name: str) -> StarterSkill:
    starter = next((each for each in starter_skills() if each.full_name == name.lower()), None)
    if starter is None:
        raise NotFound(f"{name} is not in the starter catalogue.", code="skill_not_found")
    return starter


def _present_starters(starters: Sequence[StarterSkill], web_url: str) -> list[dict[str, Any]]:
    return [starter.shown(web_url) for starter in starters]
