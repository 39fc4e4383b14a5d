"""Search: a bounded number of candidates from each index, the exact ones always among them, then ranked.

One statement. What costs more is looked up only if what costs less has found too little: parts of words if hardly any
word is found and nothing is called exactly so, names that are almost as written if nothing is. Of a word that every
twentieth skill has, the candidates are those that have it among the first few thousand in the order that is asked for,
and the most starred for relevance.
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
from assay.model.skill_list import Filters, Sort
from assay.store.skills.filters import LIVE, by_columns, by_marks
from assay.store.skills.search_text import Asked
from assay.store.skills.walks import KEYS, is_after, ordering, walking

# Common words match everything; ranking all of it would cost in proportion to the catalogue.
CANDIDATES = 2_000
REPOSITORIES = 500
# Among so many of the first in the order, instead, if a word is common; among the most starred, if no index knows it.
MOST_WALKED = 6_000
# What so many of the first few of them have is common.
SAMPLE, COMMON = 300, 15
# With fewer hits than this, parts of words are looked for.
TOO_FEW = 20
# So many rows are looked at for those that are shown: others have the same content.
LOOK, LOOK_AT_LEAST = 3, 100
MOST_HOLDERS = 200
TIMEOUT_SECONDS = 3
# One word with two letters swapped is this much like the right one; of several words each may be in another name.
LIKE_A_WORD, LIKE_WORDS = "0.45", "0.6"
# A scan of the whole table is never the answer, whatever the planner thinks of a pattern; and as it is to think the
# same of every pattern, it need not think again each time.
LIMITS = text(
    "SELECT set_config('statement_timeout', :milliseconds, true), set_config('enable_seqscan', 'off', true), "
    "set_config('plan_cache_mode', 'force_generic_plan', true), "
    "set_config('pg_trgm.word_similarity_threshold', :likeness, true)"
)
DOWN = "skill.standing IN ('blocked', 'withdrawn')"
MATCHES = "skill.search_document @@ (SELECT narrowed FROM asked)"
SLUG = "split_part(skill.name, '/'::text, 3)"
BY_STARS = f"FROM skill WHERE {LIVE} ORDER BY coalesce(stars, -1) DESC, id DESC"
STARRED = f"(SELECT * {BY_STARS} LIMIT {MOST_WALKED}) AS skill"
NAMED, NAMED_DOWN, CALLED, CALLED_DOWN, ALSO_CALLED, OF_REPOSITORY, MATCHING, PART, ALIKE = range(9, 0, -1)
# Where a hit stands: how exactly it is meant, its score, its id; or its value in another order, and its id.
Place = tuple[Any, ...]

# A word counts as it is written or by its stem; one that English has everywhere counts only if there is no other.
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
# What is read of a candidate where it is found, so that nobody has to go there again.
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
# Of those with the same content in several repositories, the one that is meant most exactly, else the one with most
# stars, else the oldest, stands for the others.
SHOWN = f"""
    top AS MATERIALIZED (SELECT * FROM hit AS skill WHERE {{after}} ORDER BY {{order}} LIMIT :look), same AS (
        SELECT top.id, holder.version_id FROM top
        JOIN skill_version AS mine ON mine.id = top.version_id CROSS JOIN LATERAL (
            SELECT other.id AS version_id FROM skill_version AS other
            WHERE other.content_digest = mine.content_digest AND other.id <> mine.id LIMIT {MOST_HOLDERS}
        ) AS holder WHERE top.is_live
    ), stood_for AS (
        SELECT same.id FROM same JOIN top USING (id) JOIN hit AS better ON better.version_id = same.version_id
        WHERE better.is_live AND better.repository_id <> top.repository_id
            AND (better.exactness, better.stars, top.created_at, top.id)
            > (top.exactness, top.stars, better.created_at, better.id)
    )
"""
NUMBERS = f"""
    SELECT count(*) FILTER (WHERE is_live) AS total, coalesce(max(exactness) = {ALIKE}, false) AS are_alike,
        {{is_exact}} AS is_exact
    FROM hit
"""
# As text: every row carries it, and one of them is read.
FACET = """
    SELECT jsonb_object_agg(value, number)::text
    FROM (SELECT {column} AS value, count(*) AS number FROM hit WHERE is_live GROUP BY 1) AS counted
"""


@dataclass(frozen=True)
class Page:
    """Which part of the hits, in which order."""

    sort: Sort
    after: Place | None
    limit: int
    offset: int
    # Whether what was blocked or withdrawn is shown to whoever asks for it by its name.
    with_down: bool = False


@dataclass(frozen=True)
class Ranked:
    """Ids of hits in their order, and what is known of all hits."""

    ids: list[UUID]
    next: Place | None
    total: int
    is_exact: bool
    # Nothing matches; these have names like it.
    are_alike: bool
    categories: Mapping[str, int] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)


async def search(db: AsyncConnection, wanted: str, filters: Filters, page: Page) -> Ranked:
    """Live listings by what was typed; equal content once, under its canonical listing."""
    asked = Asked(wanted.lower())
    marks, columns = by_marks(filters), by_columns(filters)
    sql = _sql(asked, page, columns.sql, is_filtered=bool(marks.values))
    look = page.offset + max(LOOK * page.limit, LOOK_AT_LEAST) + 1
    async with _limited(db, wanted):
        values = {**_values(asked, page), **marks.values, **columns.values, "look": look}
        rows = (await db.execute(_statement(sql), values)).all()
    top = [row for row in rows if row.id is not None]
    shown = [row for row in top if row.is_shown][page.offset :]
    return Ranked(
        ids=[row.id for row in shown[: page.limit]],
        next=_next(shown[page.limit - 1 : page.limit + 1], top[-1] if len(top) == look else None, page.sort),
        total=rows[0].total,
        is_exact=rows[0].is_exact,
        are_alike=rows[0].are_alike,
        categories=_counted(rows[0].categories),
        tiers=_counted(rows[0].tiers),
    )


def _sql(asked: Asked, page: Page, met: str, *, is_filtered: bool) -> str:
    by_score = page.sort is Sort.RELEVANCE
    order = "exactness DESC, score DESC, id" if by_score else ordering(page.sort)
    sources = _sources(asked, page, met)
    is_exact = [
        f"(NOT (SELECT is_common FROM sample) OR NOT EXISTS (SELECT {BY_STARS} OFFSET {MOST_WALKED}))",
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
class Source:
    """One way in which listings are found, and how many may come that way."""

    among: str
    where: str
    exactness: int
    key: str
    most: int = CANDIDATES
    alike: str = "0"

    @property
    def sql(self) -> str:
        """The statement."""
        return READ.format(
            among=self.among, where=self.where, exactness=self.exactness, key=self.key, most=self.most, alike=self.alike
        )

    def is_exact(self, name: str) -> str:
        """Whether it has found all there is."""
        return f"(SELECT count(*) FROM {name}) < {self.most}"


def _sources(asked: Asked, page: Page, met: str) -> dict[str, Source]:
    """Every way in which something is found, the cheap ones first."""
    key = "NULL::int" if page.sort is Sort.RELEVANCE else KEYS[page.sort]
    found = partial(Source, key=key)
    sources = {
        "by_name": found("skill", f"skill.name = :wanted AND {LIVE} AND {met}", NAMED),
        "by_slug": found("skill", f"{SLUG} = :slug AND {LIVE} AND {met}", CALLED),
        "by_alias": found(
            "skill_alias JOIN skill ON skill.id = skill_alias.skill_id",
            f"skill_alias.alias = :wanted AND {LIVE} AND {met}",
            ALSO_CALLED,
        ),
    }
    if page.with_down:
        sources["by_name_down"] = found("skill", f"skill.name = :wanted AND {DOWN} AND {met}", NAMED_DOWN)
        is_down = f"{SLUG} = :slug AND skill.standing <> 'live' AND {DOWN} AND {met}"
        sources["by_slug_down"] = found("skill", is_down, CALLED_DOWN)
    if asked.owner_and_name:
        sources["of_repository"] = found(_of(NAMED_REPOSITORIES, met), "true", OF_REPOSITORY)
    if asked.tokens:
        # One-time filters: an index that has half the catalogue under a word is not asked at all.
        is_common = "(SELECT is_common FROM sample)"
        sources["by_words"] = found("skill", f"NOT {is_common} AND {LIVE} AND {MATCHES}", MATCHING)
        is_cut = f"(SELECT count(*) FROM by_words) >= {CANDIDATES}"
        sources["by_walk"] = found(_first(page), f"({is_common} OR {is_cut}) AND {MATCHES}", MATCHING)
    if asked.beginning:
        begins = f"{SLUG} ~>=~ :beginning AND {SLUG} ~<~ :beyond AND {LIVE} AND {met}"
        sources["by_beginning"] = found("skill", begins, MATCHING)
    if asked.may_be_repository_part:
        sources["by_repository"] = found(_of(LIKE_REPOSITORIES, met), "true", MATCHING)
    hits = " + ".join(f"(SELECT count(*) FROM {name})" for name in sources)
    # Whoever gives a whole name that there is has not meant a part of another.
    is_named = " OR ".join(f"EXISTS (SELECT FROM {name})" for name in ("by_name", "of_repository") if name in sources)
    is_part = f"NOT ({is_named}) AND {hits} < {TOO_FEW} AND {LIVE} AND skill.search_text LIKE :pattern AND {met}"
    sources["by_part"] = found("skill" if asked.has_trigram else STARRED, is_part, PART)
    if asked.has_trigram:
        is_alike = f"{hits} + (SELECT count(*) FROM by_part) = 0 AND {LIVE} AND :wanted <% skill.name AND {met}"
        sources["by_likeness"] = found("skill", is_alike, ALIKE, alike="word_similarity(:wanted, skill.name)")
    return sources


def _first(page: Page) -> str:
    """The first of all in the order that is asked for; the most starred, if that is relevance."""
    if page.sort is Sort.RELEVANCE:
        return STARRED
    later = is_after(page.sort, KEYS[page.sort]) if page.after else "true"
    return f"(SELECT * FROM skill WHERE {LIVE} AND {later} ORDER BY {walking(page.sort)} LIMIT {MOST_WALKED}) AS skill"


def _of(repositories: str, met: str) -> str:
    """The listings of these repositories, each looked up by its own index walk."""
    listed = f"SELECT * FROM skill WHERE repository_id = known.id AND {LIVE} AND {met} LIMIT {CANDIDATES}"
    return f"({repositories}) AS known CROSS JOIN LATERAL ({listed}) AS skill"


def _values(asked: Asked, page: Page) -> dict[str, object]:
    owner, repository = asked.owner_and_name or (None, None)
    beginning, beyond = asked.beginning or (None, None)
    values: dict[str, object] = {
        "wanted": asked.wanted,
        "words": asked.words,
        "bare_words": asked.bare_words,
        "slug": asked.slug,
        "beginning": beginning,
        "beyond": beyond,
        "pattern": asked.pattern,
        "owner": owner,
        "repository": repository,
    }
    names = ("after_exactness", "after_score", "after_id") if page.sort is Sort.RELEVANCE else ("after_key", "after_id")
    return values | (dict(zip(names, page.after, strict=True)) if page.after else {})


def _after(page: Page) -> str:
    if page.after is None:
        return "true"
    if page.sort is Sort.RELEVANCE:
        same = "exactness = :after_exactness AND score = :after_score AND id > :after_id"
        return f"((exactness, score) < (:after_exactness, :after_score) OR {same})"
    return is_after(page.sort, "key")


def _counted(facet: str | None) -> Mapping[str, int]:
    return msgspec.json.decode(facet, type=dict[str, int]) if facet else {}


def _next(around: Sequence[Any], last: Any | None, sort: Sort) -> Place | None:
    """After the last that is shown if there is another; else where looking stopped."""
    row = around[0] if len(around) > 1 else last
    if row is None:
        return None
    return (row.exactness, row.score, row.id) if sort is Sort.RELEVANCE else (row.key, row.id)


@asynccontextmanager
async def _limited(db: AsyncConnection, words: str) -> AsyncIterator[None]:
    """So long and no longer; whoever asks then is told to ask for less."""
    likeness = LIKE_WORDS if " " in words else LIKE_A_WORD
    await db.execute(LIMITS, {"milliseconds": str(TIMEOUT_SECONDS * 1000), "likeness": likeness})
    try:
        yield
    except exc.DBAPIError as problem:
        cause = problem.orig.__cause__ if problem.orig is not None else None
        if not isinstance(cause, asyncpg.QueryCanceledError):
            raise
        message = f"The search took longer than {TIMEOUT_SECONDS} s. Ask for a name, or for more words."
        raise Unavailable(message, code="search_timeout", retry_after_seconds=5) from problem


@lru_cache(maxsize=256)
def _statement(sql: str) -> TextClause:
    return text(sql)
