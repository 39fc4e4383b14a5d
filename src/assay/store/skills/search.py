"""Search: a bounded number of candidates from each index, always including exact matches, and then ranked.

One statement. Expensive sources run only if cheaper ones found too little: parts of words if there are few hits and
no exact name, similar names if there are none. For a word that occurs in every twentieth skill, candidates are taken
from the first few thousand listings in the requested order, or the most starred for relevance.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from sqlalchemy import TextClause, exc, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Unavailable
from assay.model.skill import SkillFilters, SkillSort
from assay.store.skills.filters import LIVE, by_columns, by_marks
from assay.store.skills.search_text import SearchQuery
from assay.store.skills.walks import KEYS, is_after, ordering, walking

# Common words match everything, and ranking all matches would cost in proportion to the catalogue.
CANDIDATES = 2_000
REPOSITORIES = 500
# Maximum number of listings scanned for a common word, in the requested order, or for a word that no index knows.
MAX_WALKED = 6_000
# A word is common if it occurs in COMMON of the first SAMPLE listings.
SAMPLE, COMMON = 300, 15
# With fewer hits than this, parts of words are searched.
FEW_HITS = 20
# Rows read per row returned, because hits with the same content are merged.
SCAN_FACTOR, SCAN_AT_LEAST = 3, 100
MAX_COMPARED = 200
TIMEOUT_SECONDS = 3
# A word with two letters swapped has this similarity to the right one; words of a phrase may match different names.
WORD_SIMILARITY, PHRASE_SIMILARITY = "0.45", "0.6"
# Disable sequential scans and force a generic plan: the plan must not depend on the pattern.
LIMITS = text(
    "SELECT set_config('statement_timeout', :milliseconds, true), set_config('enable_seqscan', 'off', true), "
    "set_config('plan_cache_mode', 'force_generic_plan', true), "
    "set_config('pg_trgm.word_similarity_threshold', :likeness, true)"
)
IS_DOWN = "skill.standing IN ('blocked', 'withdrawn')"
MATCHES = "skill.search_document @@ (SELECT narrowed FROM asked)"
SLUG = "split_part(skill.name, '/'::text, 3)"
BY_STARS = f"FROM skill WHERE {LIVE} ORDER BY coalesce(stars, -1) DESC, id DESC"
STARRED = f"(SELECT * {BY_STARS} LIMIT {MAX_WALKED}) AS skill"
NAMED, NAMED_DOWN, CALLED, CALLED_DOWN, ALSO_CALLED, OF_REPOSITORY, MATCHING, PART, SIMILAR = range(9, 0, -1)
# Exactness, score and id of a hit; or the value of another order, and the id.
SearchCursor = tuple[Any, ...]

# A word matches as written or by its stem. Stop words count only if there are no others.
WORDS = f"""
    given AS (
        SELECT to_tsquery('simple', plain) AS plain, to_tsquery('english', bare) AS stemmed
        FROM unnest(CAST(:words AS text[]), CAST(:bare_words AS text[])) AS given (plain, bare)
    ), read AS MATERIALIZED (
        SELECT coalesce(
            (SELECT string_agg('(' || (plain || stemmed)::text || ')', ' & ') FROM given WHERE numnode(stemmed) > 0),
            (SELECT string_agg('(' || plain::text || ')', ' & ') FROM given WHERE numnode(plain) > 0)
        )::tsquery AS words
    ), asked AS MATERIALIZED (SELECT words, {{narrowed}} AS narrowed FROM read), sample AS MATERIALIZED (
        SELECT count(*) >= {COMMON} AS is_common
        FROM (SELECT search_document {BY_STARS} LIMIT {SAMPLE}) AS skill WHERE {MATCHES}
    )
"""
# A repository may have had other names.
NAMED_REPOSITORIES = """
    SELECT id FROM repository WHERE host IN ('github', 'upload') AND lower(owner) = :owner
        AND lower(name) = :repository AND merged_into_id IS NULL
    UNION SELECT repository_id FROM repository_alias
    WHERE host IN ('github', 'upload') AND owner = :owner AND name = :repository
"""
LIKE_REPOSITORIES = f"""
    SELECT id FROM repository WHERE lower(owner || '/'::text || name) LIKE :pattern LIMIT {REPOSITORIES}
"""
# All columns that are needed of a candidate, so that its row is read once.
READ = f"""
    SELECT skill.id, skill.repository_id, skill.current_version_id AS version_id, skill.category, skill.tier,
        skill.created_at,
        coalesce(skill.stars, -1) AS stars, {LIVE} AS is_live, {{key}} AS key,
        CASE WHEN {LIVE} AND lower(skill.display_name) = :wanted THEN greatest({{exactness}}, {CALLED})
            ELSE {{exactness}} END AS exactness,
        (0.01::float8 + coalesce(ts_rank(skill.search_document, (SELECT words FROM asked)), 0) + {{alike}})
            * (1 + ln((1 + greatest(skill.stars, 0) + skill.installs)::float8) / 10)
            * (0.9::float8 + skill.trust_score / 500::float8) AS score
    FROM {{among}} WHERE {{where}} LIMIT {{most}}
"""
# Of hits with the same content in several repositories, only one is shown: the most exact, most starred, oldest.
SHOWN = f"""
    top AS MATERIALIZED (SELECT * FROM hit AS skill WHERE {{after}} ORDER BY {{order}} LIMIT :look), same AS (
        SELECT top.id, holder.version_id FROM top
        JOIN skill_version AS mine ON mine.id = top.version_id CROSS JOIN LATERAL (
            SELECT other.id AS version_id FROM skill_version AS other
            WHERE other.content_digest = mine.content_digest AND other.id <> mine.id LIMIT {MAX_COMPARED}
        ) AS holder WHERE top.is_live
    ), stood_for AS (
        SELECT same.id FROM same JOIN top USING (id) JOIN hit AS better ON better.version_id = same.version_id
        WHERE better.is_live AND better.repository_id <> top.repository_id
            AND (better.exactness, better.stars, top.created_at, top.id)
            > (top.exactness, top.stars, better.created_at, better.id)
    )
"""
NUMBERS = f"""
    SELECT count(*) FILTER (WHERE is_live) AS total, coalesce(max(exactness) = {SIMILAR}, false) AS are_alike,
        {{is_exact}} AS is_exact
    FROM hit
"""
# As text, because every row carries it but only one is decoded.
FACET = """
    SELECT jsonb_object_agg(value, number)::text
    FROM (SELECT {column} AS value, count(*) AS number FROM hit WHERE is_live GROUP BY 1) AS counted
"""


@dataclass(frozen=True)
class SearchPage:
    """The requested page of hits and their order."""

    sort: SkillSort
    after: SearchCursor | None
    limit: int
    offset: int
    # Find blocked and withdrawn listings, too, by their exact name.
    include_removed: bool = False


@dataclass(frozen=True)
class SearchHits:
    """Ids of hits in order, and totals over all hits."""

    ids: list[UUID]
    next: SearchCursor | None
    total: int
    is_exact: bool
    # Nothing matches; the hits have similar names.
    are_alike: bool
    categories: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)


async def search(db: AsyncConnection, words: str, filters: SkillFilters, page: SearchPage) -> SearchHits:
    """Find live listings. Hits with equal content are merged to their canonical listing."""
    query = SearchQuery(words.lower())
    marks, columns = by_marks(filters), by_columns(filters)
    sql = _sql(query, page, columns.sql, is_filtered=bool(marks.values))
    look = page.offset + max(SCAN_FACTOR * page.limit, SCAN_AT_LEAST) + 1
    async with _limited(db, words):
        values = {**_values(query, page), **marks.values, **columns.values, "look": look}
        rows = (await db.execute(_statement(sql), values)).all()
    top = [row for row in rows if row.id is not None]
    shown = [row for row in top if row.is_shown][page.offset :]
    return SearchHits(
        ids=[row.id for row in shown[: page.limit]],
        next=_next(shown[page.limit - 1 : page.limit + 1], top[-1] if len(top) == look else None, page.sort),
        total=rows[0].total,
        is_exact=rows[0].is_exact,
        are_alike=rows[0].are_alike,
        categories=_counted(rows[0].categories),
        tiers=_counted(rows[0].tiers),
    )


def _sql(query: SearchQuery, page: SearchPage, condition: str, *, is_filtered: bool) -> str:
    by_score = page.sort is SkillSort.RELEVANCE
    order = "exactness DESC, score DESC, id" if by_score else ordering(page.sort)
    sources = _sources(query, page, condition)
    is_exact = [
        f"(NOT (SELECT is_common FROM sample) OR NOT EXISTS (SELECT {BY_STARS} OFFSET {MAX_WALKED}))",
        *(source.is_exact(name) for name, source in sources.items()),
    ]
    return f"""
        WITH {WORDS.format(narrowed="words && CAST(:marks AS tsquery)" if is_filtered else "words")},
        {", ".join(f"{name} AS MATERIALIZED ({source.sql})" for name, source in sources.items())},
        hit AS MATERIALIZED (
            SELECT DISTINCT ON (id) * FROM ({" UNION ALL ".join(f"SELECT * FROM {name}" for name in sources)}) AS found
            ORDER BY id, exactness DESC
        ),
        {SHOWN.format(after=_after(page), order=order)},
        number AS ({NUMBERS.format(is_exact=" AND ".join(is_exact))})
        SELECT top.id, top.exactness, top.score, top.key, top.id NOT IN (SELECT id FROM stood_for) AS is_shown,
            number.*, ({FACET.format(column="category")}) AS categories, ({FACET.format(column="tier")}) AS tiers
        FROM number LEFT JOIN top ON true ORDER BY {order}
    """


@dataclass(frozen=True)
class HitSource:
    """One way to find listings, with the maximum number of candidates it contributes."""

    among: str
    where: str
    exactness: int
    key: str
    most: int = CANDIDATES
    alike: str = "0"

    @property
    def sql(self) -> str:
        return READ.format(
            among=self.among, where=self.where, exactness=self.exactness, key=self.key, most=self.most, alike=self.alike
        )

    def is_exact(self, name: str) -> str:
        """Return the SQL condition that this source found all its matches."""
        return f"(SELECT count(*) FROM {name}) < {self.most}"


def _sources(query: SearchQuery, page: SearchPage, condition: str) -> dict[str, HitSource]:
    """Return all sources that apply to the query, cheapest first."""
    key = "NULL::int" if page.sort is SkillSort.RELEVANCE else KEYS[page.sort]
    found = partial(HitSource, key=key)
    sources = {
        "by_name": found("skill", f"skill.name = :wanted AND {LIVE} AND {condition}", NAMED),
        "by_slug": found("skill", f"{SLUG} = :slug AND {LIVE} AND {condition}", CALLED),
        "by_alias": found(
            "skill_alias JOIN skill ON skill.id = skill_alias.skill_id",
            f"skill_alias.alias = :wanted AND {LIVE} AND {condition}",
            ALSO_CALLED,
        ),
    }
    if page.include_removed:
        sources["by_name_down"] = found("skill", f"skill.name = :wanted AND {IS_DOWN} AND {condition}", NAMED_DOWN)
        is_down = f"{SLUG} = :slug AND skill.standing <> 'live' AND {IS_DOWN} AND {condition}"
        sources["by_slug_down"] = found("skill", is_down, CALLED_DOWN)
    if query.owner_and_name:
        sources["of_repository"] = found(_of(NAMED_REPOSITORIES, condition), "true", OF_REPOSITORY)
    if query.tokens:
        # One-time filters: the index is not read for a word that half the catalogue has.
        is_common = "(SELECT is_common FROM sample)"
        sources["by_words"] = found("skill", f"NOT {is_common} AND {LIVE} AND {MATCHES}", MATCHING)
        is_cut = f"(SELECT count(*) FROM by_words) >= {CANDIDATES}"
        sources["by_walk"] = found(_first(page), f"({is_common} OR {is_cut}) AND {MATCHES}", MATCHING)
    if query.beginning:
        begins = f"{SLUG} ~>=~ :beginning AND {SLUG} ~<~ :beyond AND {LIVE} AND {condition}"
        sources["by_beginning"] = found("skill", begins, MATCHING)
    if query.may_be_repository_part:
        sources["by_repository"] = found(_of(LIKE_REPOSITORIES, condition), "true", MATCHING)
    hits = " + ".join(f"(SELECT count(*) FROM {name})" for name in sources)
    # If the query is the whole name of something, parts of other names are not searched.
    is_named = " OR ".join(f"EXISTS (SELECT FROM {name})" for name in ("by_name", "of_repository") if name in sources)
    is_part = f"NOT ({is_named}) AND {hits} < {FEW_HITS} AND {LIVE} AND skill.search_text LIKE :pattern AND {condition}"
    sources["by_part"] = found("skill" if query.has_trigram else STARRED, is_part, PART)
    if query.has_trigram:
        is_alike = f"{hits} + (SELECT count(*) FROM by_part) = 0 AND {LIVE} AND :wanted <% skill.name AND {condition}"
        sources["by_likeness"] = found("skill", is_alike, SIMILAR, alike="word_similarity(:wanted, skill.name)")
    return sources


def _first(page: SearchPage) -> str:
    """Return the first listings in the requested order; the most starred for relevance."""
    if page.sort is SkillSort.RELEVANCE:
        return STARRED
    later = is_after(page.sort, KEYS[page.sort]) if page.after else "true"
    return f"(SELECT * FROM skill WHERE {LIVE} AND {later} ORDER BY {walking(page.sort)} LIMIT {MAX_WALKED}) AS skill"


def _of(repositories: str, condition: str) -> str:
    """Return the listings of these repositories, with one index lookup for each."""
    listed = f"SELECT * FROM skill WHERE repository_id = known.id AND {LIVE} AND {condition} LIMIT {CANDIDATES}"
    return f"({repositories}) AS known CROSS JOIN LATERAL ({listed}) AS skill"


def _values(query: SearchQuery, page: SearchPage) -> dict[str, object]:
    owner, repository = query.owner_and_name or (None, None)
    beginning, beyond = query.beginning or (None, None)
    values: dict[str, object] = {
        "wanted": query.text,
        "words": query.words,
        "bare_words": query.bare_words,
        "slug": query.slug,
        "beginning": beginning,
        "beyond": beyond,
        "pattern": query.pattern,
        "owner": owner,
        "repository": repository,
    }
    names = (
        ("after_exactness", "after_score", "after_id")
        if page.sort is SkillSort.RELEVANCE
        else ("after_key", "after_id")
    )
    return values | (dict(zip(names, page.after, strict=True)) if page.after else {})


def _after(page: SearchPage) -> str:
    if page.after is None:
        return "true"
    if page.sort is SkillSort.RELEVANCE:
        same = "exactness = :after_exactness AND score = :after_score AND id > :after_id"
        return f"((exactness, score) < (:after_exactness, :after_score) OR {same})"
    return is_after(page.sort, "key")


def _counted(facet: str | None) -> Mapping[str, int]:
    return msgspec.json.decode(facet, type=dict[str, int]) if facet else {}


def _next(boundary: Sequence[Any], last: Any | None, sort: SkillSort) -> SearchCursor | None:
    """Return the cursor after the last hit shown if there are more, else where reading stopped."""
    row = boundary[0] if len(boundary) > 1 else last
    if row is None:
        return None
    return (row.exactness, row.score, row.id) if sort is SkillSort.RELEVANCE else (row.key, row.id)


@asynccontextmanager
async def _limited(db: AsyncConnection, words: str) -> AsyncIterator[None]:
    """Limit the time of the search. Raises Unavailable with code `search_timeout`."""
    likeness = PHRASE_SIMILARITY if " " in words else WORD_SIMILARITY
    await db.execute(LIMITS, {"milliseconds": str(TIMEOUT_SECONDS * 1000), "likeness": likeness})
    try:
        yield
    except exc.DBAPIError as error:
        cause = error.orig.__cause__ if error.orig is not None else None
        if not isinstance(cause, asyncpg.QueryCanceledError):
            raise
        message = f"The search took longer than {TIMEOUT_SECONDS} s. Search for a name, or use more words."
        raise Unavailable(message, code="search_timeout", retry_after_seconds=5) from error


@lru_cache(maxsize=256)
def _statement(sql: str) -> TextClause:
    return text(sql)
