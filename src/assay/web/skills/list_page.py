"""The list of skills: search, filters, numbers, pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeVar

from litestar import get
from litestar.params import QueryParameter
from litestar.response import Template

from assay.model.category import Category
from assay.model.errors import Invalid
from assay.model.skill import Tier, TrustTier
from assay.model.skill_list import Sort
from assay.serve.skills.search import read_skills
from assay.serve.skills.starter import starter_skills
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.skills.query import skill_query

PAGE = 30
SORTS = {
    Sort.RELEVANCE: "best match",
    Sort.UPDATED: "last updated",
    Sort.NEWEST: "newest",
    Sort.STARS: "stars",
    Sort.INSTALLS: "installs",
    Sort.TRENDING: "trending",
    Sort.NAME: "name",
}
Choice = TypeVar("Choice", bound=StrEnum)
# A form sends its empty fields, too: here "" is the same as nothing.
Field = Annotated[str, QueryParameter(max_length=500)]


@dataclass(frozen=True)
class Tab:
    """A kind of skills: its name, how many there are if that is known, and the parameters that lead there."""

    name: str
    number: int | None
    query: Mapping[str, str]
    is_chosen: bool


@get("/skills", opt=PUBLIC, include_in_schema=False)
async def skills(
    assay: Assay,
    q: Field = "",
    category: Field = "",
    tier: Field = "",
    labels: Field = "",
    author: Field = "",
    source: Field = "",
    min_trust: Annotated[str, QueryParameter(name="minTrust", max_length=2)] = "",
    sort: Field = "",
    cursor: Annotated[str | None, QueryParameter(max_length=400)] = None,
) -> Template:
    """All skills, or those that match."""
    shelf, step = _choice(Category, "category", category), _choice(Tier, "tier", tier)
    query = skill_query(
        web_url=assay.settings.github_web_url,
        q=q if q.strip() else None,
        category=shelf,
        tier=step,
        labels=labels.strip() or None,
        author=author.strip() or None,
        source=source.strip() or None,
        min_trust=_choice(TrustTier, "minTrust", min_trust),
        # Whoever takes the words out of the form has not asked for an error.
        sort=_choice(Sort, "sort", sort if q.strip() or sort != Sort.RELEVANCE else ""),
        limit=PAGE,
        cursor=cursor,
        with_down=True,
    )
    async with assay.store.snapshot() as db:
        page = await read_skills(db, query)
    given = {
        **{"q": q.strip(), "category": category, "tier": tier, "labels": labels, "author": author, "source": source},
        **{"minTrust": min_trust, "sort": sort},
    }
    kept = {name: value for name, value in given.items() if value}
    context = {
        "q": q,
        "page": page,
        "given": given,
        "categories": _tabs("category", Category, page.facets.categories, kept, shelf),
        "tiers": _tabs("tier", Tier, page.facets.tiers, kept, step),
        "trusts": list(TrustTier)[1:],
        "sorts": {
            each: words for each, words in SORTS.items() if query.words is not None or each is not Sort.RELEVANCE
        },
        "sorted_by": query.order,
        "is_narrowed": bool(kept.keys() - {"q", "sort"}),
        "is_first": cursor is None,
        "more": {**kept, "cursor": page.next_cursor} if page.next_cursor else None,
        "starters": [] if page.hits or page.total or kept or cursor else starter_skills(),
    }
    return Template("skills/list.html", context=context)


def _tabs(
    name: str, kinds: type[StrEnum], numbers: Mapping[str, int] | None, kept: dict[str, str], chosen: StrEnum | None
) -> list[Tab]:
    """All, and every kind that has something or may have."""
    others = {key: value for key, value in kept.items() if key != name}
    tabs = [Tab("all", None, others, chosen is None)]
    for kind in kinds:
        number = numbers.get(kind, 0) if numbers is not None else None
        # With a kind chosen, words are counted within it: of the others nothing is known.
        known = None if kind != chosen and number == 0 and chosen is not None else number
        if number != 0 or chosen is not None:
            tabs.append(Tab(kind.value, known, {**others, name: kind.value}, kind == chosen))
    return tabs


def _choice(kind: type[Choice], name: str, text: str) -> Choice | None:
    try:
        return kind(text) if text else None
    except ValueError:
        raise Invalid(f"{name}: it is one of {', '.join(kind)}.", code="bad_filter") from None
