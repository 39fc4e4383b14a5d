"""The home page, the list of skills, and the page of one skill."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_301_MOVED_PERMANENTLY

from assay.accounts.permissions import owns_listing
from assay.app.app import App
from assay.model.account import Caller
from assay.model.category import Category
from assay.model.skill import SkillSort, Tier, TrustTier
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.skills.listing import read_listing
from assay.serve.skills.search import read_skills
from assay.serve.skills.starter import starter_skills
from assay.store.skills.skills import list_recently_updated
from assay.web.http.access import PUBLIC
from assay.web.http.context import Assay, CalledBy, RequestedName
from assay.web.http.degraded import degraded
from assay.web.http.parameters import FormRequest, Params, parameters, requested_fields
from assay.web.skills import degraded as without_database
from assay.web.skills.context import skill_context
from assay.web.skills.degraded import NEWEST, PAGE
from assay.web.skills.query import SkillParameters
from assay.web.versions.naming import BY_NAME

SORTS = {
    SkillSort.RELEVANCE: "best match",
    SkillSort.UPDATED: "last updated",
    SkillSort.NEWEST: "newest",
    SkillSort.STARS: "stars",
    SkillSort.INSTALLS: "installs",
    SkillSort.TRENDING: "trending",
    SkillSort.NAME: "name",
}


@dataclass(frozen=True)
class FilterTab:
    """A link that selects one category or tier: its number of skills, if known, and its query parameters."""

    name: str
    number: int | None
    query: Mapping[str, str]
    is_chosen: bool


@get("/", opt=PUBLIC | degraded(without_database.home_page), include_in_schema=False)
async def home(assay: Assay) -> Template:
    """Render the newest skills and the newest submissions."""
    async with assay.store.snapshot() as db:
        newest = await list_recently_updated(db, limit=NEWEST)
        queue = await read_queue(db, QueueQuery(limit=NEWEST), assay.clock.now())
    context = {"newest": newest, "queue": queue, "base_url": assay.settings.base_url}
    return Template("skills/home.html", context=context)


@get(
    "/skills",
    opt=PUBLIC | degraded(without_database.skills_page),
    dependencies=parameters(SkillParameters),
    request_class=FormRequest,
    include_in_schema=False,
)
async def skills(
    assay: Assay,
    request: Request[Any, Any, Any],
    params: Params[SkillParameters],
) -> Template:
    """Render a page of skills, filtered and sorted by the query."""
    if params.q is None and params.sort is SkillSort.RELEVANCE:
        # The sort order of an earlier search is still selected in the form.
        params = replace(params, sort=None)
    query = params.query(assay.settings.github_web_url, limit=PAGE, include_removed=True)
    async with assay.store.snapshot() as db:
        page = await read_skills(db, query)
    fields = requested_fields(request, "cursor")
    fields["q"] = fields["q"].strip()
    selected = {name: value for name, value in fields.items() if value}
    is_first = params.cursor is None
    context = {
        "q": fields["q"],
        "page": page,
        "params": fields,
        "categories": _tabs("category", Category, page.facets.categories, selected, params.category),
        "tiers": _tabs("tier", Tier, page.facets.tiers, selected, params.tier),
        "trusts": list(TrustTier)[1:],
        "sorts": {
            sort: label for sort, label in SORTS.items() if query.words is not None or sort is not SkillSort.RELEVANCE
        },
        "sorted_by": query.order,
        "is_narrowed": bool(selected.keys() - {"q", "sort"}),
        "is_first": is_first,
        "more": {**selected, "cursor": page.next_cursor} if page.next_cursor else None,
        "starters": starter_skills() if is_first and not (page.hits or page.total or selected) else [],
    }
    return Template("skills/list.html", context=context)


@get(
    "/skills/{owner:str}/{repo:str}/{skill:str}",
    opt=PUBLIC | degraded(without_database.skill_page),
    dependencies=BY_NAME,
    include_in_schema=False,
)
async def skill(assay: Assay, caller: CalledBy, requested_name: RequestedName) -> Template | Redirect:
    """Render a skill: its text, findings, versions and how to install it."""
    return await _skill_page(assay, caller, requested_name)


@get("/skills/{name:str}", opt=PUBLIC | degraded(without_database.skill_page), include_in_schema=False)
async def skill_by_name(assay: Assay, caller: CalledBy, name: FromPath[str]) -> Template | Redirect:
    """Redirect to the skill whose name ends in this, or render the choices if there are several."""
    return await _skill_page(assay, caller, name)


async def _skill_page(assay: App, caller: Caller, name: str) -> Template | Redirect:
    async with assay.store.snapshot() as db:
        listing = await read_listing(db, name)
        await assay.popular_names.read(db, assay.clock.now())
        is_owner = await owns_listing(db, caller, listing.skill)
    if listing.skill.name != name.lower():
        return Redirect(f"/skills/{listing.skill.name}", status_code=HTTP_301_MOVED_PERMANENTLY)
    return Template("skills/skill.html", context={**await skill_context(assay, listing), "is_owner": is_owner})


def _tabs(
    name: str, kinds: type[StrEnum], numbers: Mapping[str, int] | None, selected: dict[str, str], chosen: StrEnum | None
) -> list[FilterTab]:
    """Return a tab for all kinds and one for each kind that has skills or may have some."""
    others = {key: value for key, value in selected.items() if key != name}
    tabs = [FilterTab("all", None, others, chosen is None)]
    for kind in kinds:
        number = numbers.get(kind, 0) if numbers is not None else None
        # A search with a chosen kind counts only within that kind: the numbers of the others are unknown.
        known = None if kind != chosen and number == 0 and chosen is not None else number
        if number != 0 or chosen is not None:
            tabs.append(FilterTab(kind.value, known, {**others, name: kind.value}, kind == chosen))
    return tabs
