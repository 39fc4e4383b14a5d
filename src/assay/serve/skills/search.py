"""Search and lists: one way to read the catalogue, for the API, the pages and every client."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import Target
from assay.model.category import Category
from assay.model.finding import Severity
from assay.model.listing_status import Standing
from assay.model.skill import Skill
from assay.model.skill_list import Filters
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.skills.query import PLACES, SkillQuery, checked
from assay.store.moderation.blocklist import check_blocklist
from assay.store.skills.listed import Listed, read_listed
from assay.store.skills.search import Page, search
from assay.store.skills.walks import FEW, Place, Walked, gather, walk_few, walk_many
from assay.store.submissions.counts import count_facets


@dataclass(frozen=True)
class Facets:
    """How many listings there are of each kind; None where that is not known."""

    categories: Mapping[str, int] | None
    tiers: Mapping[str, int] | None
    are_exact: bool


@dataclass(frozen=True)
class Block:
    """Why a listing that was asked for by its name must not be used."""

    threat: str
    severity: Severity | None
    message: str


@dataclass(frozen=True)
class Hit:
    """A listing of a list; not live only if it was asked for by its name, and then with the reason."""

    listed: Listed
    block: Block | None = None

    @property
    def skill(self) -> Skill:
        """The listing."""
        return self.listed.skill


@dataclass(frozen=True)
class SkillPage:
    """A page of listings. The numbers count listings; of those with equal content a search shows one."""

    hits: list[Hit]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    facets: Facets
    # No word is found; these have names like it.
    are_alike: bool = False


async def read_skills(db: AsyncConnection, query: SkillQuery) -> SkillPage:
    """The connection should be one snapshot, so that list and numbers cannot disagree. Raises Invalid."""
    query = checked(query)
    after = decode_cursor(query.cursor, query.name, PLACES[query.order]) if query.cursor is not None else None
    if query.words is not None:
        return await _search(db, query, query.words, after)
    return await _list(db, query, after)


async def read_categories(db: AsyncConnection) -> tuple[Mapping[Category, int], int]:
    """How many live listings each category has, also none, and all together."""
    counted = await count_facets(db)
    return {each: counted["category"].get(each, 0) for each in Category}, _number(counted, Filters())


async def _search(db: AsyncConnection, query: SkillQuery, words: str, after: Place | None) -> SkillPage:
    page = Page(query.order, after, query.limit, query.offset, query.with_down)
    found = await search(db, words, query.filters, page)
    return SkillPage(
        hits=[await _hit(db, each) for each in await read_listed(db, found.ids)],
        total=found.total,
        total_is_exact=found.is_exact,
        next_cursor=encode_cursor(query.name, found.next) if found.next else None,
        facets=Facets(found.categories, found.tiers, found.is_exact),
        are_alike=found.are_alike,
    )


async def _list(db: AsyncConnection, query: SkillQuery, after: Place | None) -> SkillPage:
    filters = query.filters
    if filters.is_shelf:
        counted = await count_facets(db)
        total, is_exact = _number(counted, filters), True
        facets = Facets(
            counted["category"] if filters.tier is None else None,
            counted["tier"] if filters.category is None else None,
            are_exact=True,
        )
        are_few = total <= FEW and filters != Filters()
    else:
        gathered = await gather(db, filters)
        total, is_exact = gathered.number, gathered.are_all
        facets = Facets(gathered.categories, gathered.tiers, True) if is_exact else Facets(None, None, False)
        are_few = is_exact
    walk = walk_few if are_few else walk_many
    walked: Walked = await walk(db, filters, query.order, after=after, limit=query.limit, offset=query.offset)
    return SkillPage(
        hits=[Hit(each) for each in await read_listed(db, walked.ids)],
        total=total,
        total_is_exact=is_exact,
        next_cursor=encode_cursor(query.name, walked.next) if walked.next else None,
        facets=facets,
    )


def _number(counted: Mapping[str, Mapping[str, int]], filters: Filters) -> int:
    if filters.category is not None:
        return counted["category"].get(filters.category, 0)
    if filters.tier is not None:
        return counted["tier"].get(filters.tier, 0)
    return counted["all"].get("", 0)


async def _hit(db: AsyncConnection, listed: Listed) -> Hit:
    skill = listed.skill
    if skill.standing is Standing.LIVE:
        return Hit(listed)
    owner, repository, slug = skill.name.split("/")
    entry = await check_blocklist(db, Target(skill.content_digest, f"{owner}/{repository}", slug))
    if entry is not None:
        return Hit(listed, Block(entry.threat.value, entry.severity, entry.reason))
    return Hit(listed, Block(skill.standing.value, None, skill.remark.message if skill.remark else ""))
