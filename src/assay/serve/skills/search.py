"""Search and lists of the catalogue, shared by the API, the pages and all client protocols."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistTarget
from assay.model.category import Category
from assay.model.finding import Severity
from assay.model.skill import ListingStatus, Skill, SkillFilters
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.skills.query import CURSOR_TYPES, SkillQuery, validated
from assay.store.moderation.blocklist import check_blocklist
from assay.store.skills.counts import count_facets
from assay.store.skills.forks import SkillWithForks, read_with_forks
from assay.store.skills.search import SearchPage, search
from assay.store.skills.walks import MAX_SORTED, SkillCursor, WalkedSkills, count_filtered, walk_few, walk_many


@dataclass(frozen=True)
class Facets:
    """The numbers of listings per category and tier; None if unknown."""

    categories: Mapping[str, int] | None
    tiers: Mapping[str, int] | None
    are_exact: bool


@dataclass(frozen=True)
class BlockNotice:
    """The reason why a listing that was searched by name must not be used."""

    threat: str
    severity: Severity | None
    message: str


@dataclass(frozen=True)
class Hit:
    """A listing in a result; has a block notice if it is not live."""

    listed: SkillWithForks
    block: BlockNotice | None = None

    @property
    def skill(self) -> Skill:
        """The listing."""
        return self.listed.skill


@dataclass(frozen=True)
class SkillPage:
    """A page of listings. Totals count all listings; a search shows one listing per content."""

    hits: list[Hit]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    facets: Facets
    # True if no word matched and these names are similar.
    are_alike: bool = False


async def read_skills(db: AsyncConnection, query: SkillQuery) -> SkillPage:
    """Read a page. The connection should be a snapshot, so that list and totals agree. Raises Invalid."""
    query = validated(query)
    after = (
        decode_cursor(query.cursor, query.fingerprint, CURSOR_TYPES[query.order]) if query.cursor is not None else None
    )
    if query.words is not None:
        return await _search(db, query, query.words, after)
    return await _list(db, query, after)


async def read_categories(db: AsyncConnection) -> tuple[Mapping[Category, int], int]:
    """Return the number of live listings in every category, including empty ones, and in total."""
    counted = await count_facets(db)
    return {each: counted["category"].get(each, 0) for each in Category}, _number(counted, SkillFilters())


async def _search(db: AsyncConnection, query: SkillQuery, words: str, after: SkillCursor | None) -> SkillPage:
    page = SearchPage(query.order, after, query.limit, query.offset, query.include_removed)
    found = await search(db, words, query.filters, page)
    return SkillPage(
        hits=[await _hit(db, each) for each in await read_with_forks(db, found.ids)],
        total=found.total,
        total_is_exact=found.is_exact,
        next_cursor=encode_cursor(query.fingerprint, found.next) if found.next else None,
        facets=Facets(found.categories, found.tiers, found.is_exact),
        are_alike=found.are_alike,
    )


async def _list(db: AsyncConnection, query: SkillQuery, after: SkillCursor | None) -> SkillPage:
    filters = query.filters
    if filters.has_precomputed_total:
        counted = await count_facets(db)
        total, is_exact = _number(counted, filters), True
        facets = Facets(
            counted["category"] if filters.tier is None else None,
            counted["tier"] if filters.category is None else None,
            are_exact=True,
        )
        are_few = total <= MAX_SORTED and filters != SkillFilters()
    else:
        gathered = await count_filtered(db, filters)
        total, is_exact = gathered.number, gathered.are_all
        facets = Facets(gathered.categories, gathered.tiers, True) if is_exact else Facets(None, None, False)
        are_few = is_exact
    walk = walk_few if are_few else walk_many
    walked: WalkedSkills = await walk(db, filters, query.order, after=after, limit=query.limit, offset=query.offset)
    return SkillPage(
        hits=[Hit(each) for each in await read_with_forks(db, walked.ids)],
        total=total,
        total_is_exact=is_exact,
        next_cursor=encode_cursor(query.fingerprint, walked.next) if walked.next else None,
        facets=facets,
    )


def _number(counted: Mapping[str, Mapping[str, int]], filters: SkillFilters) -> int:
    if filters.category is not None:
        return counted["category"].get(filters.category, 0)
    if filters.tier is not None:
        return counted["tier"].get(filters.tier, 0)
    return counted["all"].get("", 0)


async def _hit(db: AsyncConnection, listed: SkillWithForks) -> Hit:
    skill = listed.skill
    if skill.standing is ListingStatus.LIVE:
        return Hit(listed)
    owner, repository, slug = skill.name.split("/")
    entry = await check_blocklist(db, BlocklistTarget(skill.content_digest, f"{owner}/{repository}", slug))
    if entry is not None:
        return Hit(listed, BlockNotice(entry.threat.value, entry.severity, entry.reason))
    return Hit(listed, BlockNotice(skill.standing.value, None, skill.remark.message if skill.remark else ""))
