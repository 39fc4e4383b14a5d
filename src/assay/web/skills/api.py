"""The catalogue: lists, searches, one skill, badges and counts."""

from time import perf_counter
from typing import Any, TypeVar

import msgspec
from litestar import MediaType, Request, Response, get
from litestar.params import FromPath

from assay.app.app import App
from assay.model.source import digest_of
from assay.serve.skills.catalogue import find_any_listing
from assay.serve.skills.listing import read_listing
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import SkillPage, read_categories, read_skills
from assay.serve.skills.stats import read_catalogue_stats
from assay.web.http.access import PUBLIC
from assay.web.http.context import Assay, RequestedName, registry_of
from assay.web.http.degraded import degraded
from assay.web.http.errors import problems, response_spec
from assay.web.http.headers import etag_of, is_cached, not_modified
from assay.web.http.parameters import Params, parameters
from assay.web.skills import degraded as without_database
from assay.web.skills.badges import JSON, BadgeView, answer_badge, badge_of, parse_file_name
from assay.web.skills.context import listing_view
from assay.web.skills.degraded import SEARCH_SOURCE
from assay.web.skills.json import (
    CatalogueStatsView,
    CategoriesView,
    CategoryView,
    ListingView,
    SearchHitsView,
    SkillListView,
    present_catalogue_stats,
    present_hits,
    present_list,
)
from assay.web.skills.query import SkillListParameters, SkillSearchParameters
from assay.web.versions.naming import located, name_in_path

T = TypeVar("T")
PROBLEMS = problems(300, 400, 404, 410, 503)


# Lists and searches take the registry from the request: Litestar resolves a second dependency in a task group, which
# would be 5 % of their time.
@get(
    "/",
    summary="List skills",
    opt=degraded(without_database.list_skills),
    dependencies=parameters(SkillListParameters),
    responses=problems(400, 503),
)
async def list_skills(
    request: Request[Any, Any, Any],
    params: Params[SkillListParameters],
) -> Response[SkillListView]:
    """List live listings, page by page. With cursors no listing appears twice.

    A page may have fewer entries than `limit` although more follow; continue until `nextCursor` is null.
    """
    assay = registry_of(request)
    query = params.list_query(assay.settings.github_web_url)
    page, headers = await _read(assay, query)
    return _tagged(request, present_list(page, query, assay.settings.github_web_url), headers)


@get(
    "/search",
    summary="Search skills",
    opt=degraded(without_database.search_skills),
    dependencies=parameters(SkillSearchParameters),
    responses=problems(400, 503),
)
async def search_skills(
    request: Request[Any, Any, Any],
    params: Params[SkillSearchParameters],
) -> Response[SearchHitsView]:
    """Search the catalogue. A skill is found as soon as it is published; exact names come first.

    Equal content from several repositories is one hit, with the other repositories as `alternateRepos`. A blocked or
    withdrawn skill is found only by its exact name, and is marked with `isBlocked`.
    """
    assay = registry_of(request)
    query = params.search_query(assay.settings.github_web_url)
    page, headers = await _read(assay, query)
    return _tagged(request, present_hits(page, query, assay.settings.github_web_url), headers)


@get(
    "/{owner:str}/{repo:str}/{skill:str}",
    summary="Get a skill",
    opt=degraded(without_database.get_skill),
    responses=PROBLEMS,
)
async def get_skill(assay: Assay, requested_name: RequestedName) -> Response[ListingView]:
    """Return a listing with its versions, tags, hallmarks, files and findings. Former names lead to it, too."""
    return await _get_skill(assay, requested_name)


@get(
    "/{name:str}",
    summary="Get a skill by the last part of its name",
    opt=degraded(without_database.get_skill),
    responses=PROBLEMS,
)
async def get_skill_by_name(assay: Assay, name: FromPath[str]) -> Response[ListingView]:
    """Return the listing whose name ends in this. Returns 300 with `choices` if several skills match."""
    return await _get_skill(assay, name)


@get("/api/v1/categories", summary="List categories", tags=["skills"], opt=PUBLIC, responses=problems(400, 503))
async def list_categories(assay: Assay) -> CategoriesView:
    """List every category with its number of live listings."""
    async with assay.store.snapshot() as db:
        numbers, total = await read_categories(db)
    categories = [CategoryView(category=category, skills=number) for category, number in numbers.items()]
    return CategoriesView(categories=categories, total=total)


@get(
    "/api/v1/stats",
    summary="Count the catalogue",
    tags=["skills"],
    opt=PUBLIC | degraded(without_database.catalogue_stats),
    responses=problems(400, 503),
)
async def catalogue_stats(assay: Assay) -> CatalogueStatsView:
    """Count skills, versions, repositories, authors, installs and submissions. All routes use the same definitions."""
    async with assay.store.snapshot() as db:
        return present_catalogue_stats(await read_catalogue_stats(db, assay.clock.now()))


@get(
    "/badge/{owner:str}/{repo:str}/{file:str}",
    summary="Get the badge of a skill",
    tags=["skills"],
    opt=PUBLIC | degraded(without_database.badge),
    responses={
        200: response_spec(BadgeView, "The badge as JSON for `.json`; an SVG image for `.svg`.", JSON),
        **problems(300, 400, 404, 503),
    },
)
async def badge(
    assay: Assay, request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], file: FromPath[str]
) -> Response[Any]:
    """Return a badge with the tier, version and score of a skill, or with its status if it is not live.

    `file` is the name of the skill followed by `.svg` or `.json`, such as `pdf.svg`.
    """
    slug, kind = parse_file_name(file)
    async with assay.store.snapshot() as db:
        return answer_badge(request, badge_of(await find_any_listing(db, name_in_path(owner, repo, slug))), kind)


async def _get_skill(assay: App, name: str) -> Response[ListingView]:
    async with assay.store.snapshot() as db:
        listing = await read_listing(db, name)
        await assay.popular_names.read(db, assay.clock.now())
    return located(await listing_view(assay, listing), name, listing.skill)


def _tagged(request: Request[Any, Any, Any], view: T, headers: dict[str, str]) -> Response[T]:
    """Return the response with an ETag of its body, or 304 if the client has it."""
    body = msgspec.json.encode(view)
    headers["ETag"] = etag_of(digest_of(body))
    if is_cached(request.headers, headers["ETag"]):
        return not_modified(headers)
    # The encoded bytes are sent, so that the view is encoded only once.
    response: Response[Any] = Response(body, media_type=MediaType.JSON, headers=headers)
    return response


async def _read(assay: App, query: SkillQuery) -> tuple[SkillPage, dict[str, str]]:
    """Return a page, and headers with its source and timing."""
    started = perf_counter()
    async with assay.store.snapshot() as db:
        connected = perf_counter()
        page = await read_skills(db, query)
    wait, read = connected - started, perf_counter() - connected
    timing = f"wait;dur={wait * 1000:.1f}, db;dur={read * 1000:.1f}"
    return page, {SEARCH_SOURCE: "postgres", "Server-Timing": timing}
