"""Lists and searches of the catalogue."""

from time import perf_counter
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import MediaType, Request, Response, get
from litestar.params import QueryParameter
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from assay.app.app import App
from assay.model.category import Category
from assay.model.skill import Tier, TrustTier
from assay.model.skill_list import Sort
from assay.model.source import digest_of
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import SkillPage, read_categories, read_skills
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.skills.json import CategoriesView, CategoryView, SearchHitsView, SkillListView
from assay.web.skills.present import present_hits, present_list
from assay.web.skills.query import skill_query
from assay.web.versions.naming import etag, is_known

T = TypeVar("T")
SEARCH_SOURCE = "X-Search-Source"
Words = Annotated[
    str | None, QueryParameter(description="Words, a name, `owner/repo`, or any part of a repository URL.")
]
InCategory = Annotated[Category | None, QueryParameter(description="Only of this category.")]
InTier = Annotated[Tier | None, QueryParameter(description="Only of this tier.")]
Labels = Annotated[
    str | None, QueryParameter(max_length=500, description="Only with all of these labels, separated by commas.")
]
Author = Annotated[
    str | None, QueryParameter(max_length=200, description="Only of this author, or of repositories of this owner.")
]
Source = Annotated[
    str | None, QueryParameter(max_length=300, description="Only of this `owner`, `owner/repo` or repository URL.")
]
MinTrust = Annotated[
    TrustTier | None, QueryParameter(name="minTrust", description="Only of this trust tier or a higher one.")
]
Order = Annotated[
    Sort | None, QueryParameter(description="By relevance if there is a `q`, else last updated first; or as given.")
]
Cursor = Annotated[str | None, QueryParameter(max_length=400, description="`nextCursor` of the page before.")]
PageNumber = Annotated[
    int | None, QueryParameter(ge=1, le=10_001, description="The number of a page, from 1; the cursor goes further.")
]


@get("/", summary="List skills", responses=problems(400, 503))
async def list_skills(
    request: Request[Any, Any, Any],
    assay: Assay,
    q: Words = None,
    category: InCategory = None,
    tier: InTier = None,
    labels: Labels = None,
    author: Author = None,
    source: Source = None,
    min_trust: MinTrust = None,
    sort: Order = None,
    cursor: Cursor = None,
    page: PageNumber = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Rows on a page.")] = 50,
) -> Response[SkillListView]:
    """Live listings, page by page; by cursor none comes twice. A page may be short and the next one have more."""
    query = skill_query(
        web_url=assay.settings.github_web_url,
        q=q,
        category=category,
        tier=tier,
        labels=labels,
        author=author,
        source=source,
        min_trust=min_trust,
        sort=sort,
        cursor=cursor,
        page=page,
        limit=limit,
    )
    found, headers = await _read(assay, query)
    return _tagged(request, present_list(found, query, assay.settings.github_web_url), headers)


@get("/search", summary="Search skills", responses=problems(400, 503))
async def search_skills(
    request: Request[Any, Any, Any],
    assay: Assay,
    q: Annotated[str, QueryParameter(description="Words, a name, `owner/repo`, or any part of a repository URL.")],
    category: InCategory = None,
    tier: InTier = None,
    labels: Labels = None,
    author: Author = None,
    source: Source = None,
    min_trust: MinTrust = None,
    sort: Order = None,
    cursor: Cursor = None,
    page: PageNumber = None,
    limit: Annotated[int, QueryParameter(ge=1, le=50)] = 10,
    offset: Annotated[int | None, QueryParameter(ge=0, le=1000)] = None,
) -> Response[SearchHitsView]:
    """A published skill is found from the moment it is published; exact names come first.

    Equal content of several repositories is one hit, with the others as `alternateRepos`. A skill that was blocked or
    withdrawn is among the hits only if it is asked for by its name, and is marked `isBlocked`.
    """
    query = skill_query(
        web_url=assay.settings.github_web_url,
        q=q,
        category=category,
        tier=tier,
        labels=labels,
        author=author,
        source=source,
        min_trust=min_trust,
        sort=sort,
        cursor=cursor,
        page=page,
        limit=limit,
        offset=offset,
        with_down=True,
    )
    found, headers = await _read(assay, query)
    return _tagged(request, present_hits(found, query, assay.settings.github_web_url), headers)


@get("/api/v1/categories", summary="List categories", tags=["skills"], opt=PUBLIC, responses=problems(400, 503))
async def list_categories(assay: Assay) -> CategoriesView:
    """Every category with the number of its live listings, which is the same everywhere."""
    async with assay.store.snapshot() as db:
        numbers, total = await read_categories(db)
    categories = [CategoryView(category=category, skills=number) for category, number in numbers.items()]
    return CategoriesView(categories=categories, total=total)


def _tagged(request: Request[Any, Any, Any], view: T, headers: dict[str, str]) -> Response[T]:
    """The answer with its tag; only the tag for who has the answer already."""
    body = msgspec.json.encode(view)
    headers["ETag"] = etag(digest_of(body))
    if is_known(request.headers, headers["ETag"]):
        unchanged: Response[Any] = Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)
        return unchanged
    # Encoded once: the tag is of exactly what is sent.
    answer: Response[Any] = Response(body, media_type=MediaType.JSON, headers=headers)
    return answer


async def _read(assay: App, query: SkillQuery) -> tuple[SkillPage, dict[str, str]]:
    """A page, and the headers that say where it is from and how long it took."""
    started = perf_counter()
    async with assay.store.snapshot() as db:
        connected = perf_counter()
        page = await read_skills(db, query)
    wait, read = connected - started, perf_counter() - connected
    timing = f"wait;dur={wait * 1000:.1f}, db;dur={read * 1000:.1f}"
    return page, {SEARCH_SOURCE: "postgres", "Server-Timing": timing}
