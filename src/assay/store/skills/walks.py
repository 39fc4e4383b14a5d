"""Pages of the catalogue at a cost that does not grow with it.

A list is a walk along the index of its order. A filter leaves either so few listings that all of them are read by
the index of search documents and sorted, or so many that a walk soon meets enough of them. A walk reads a bounded
number of rows, so a page may be short although there are more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill import SkillFilters, SkillSort
from assay.store.skills.filters import LIVE, by_columns, by_marks

# The value of a listing in the order of a list, and its id.
SkillCursor = tuple[Any, UUID]

# Maximum number of listings that are read and sorted.
MAX_SORTED = 2_000
MAX_SCANNED = 10_000
KEYS: Mapping[SkillSort, str] = {
    SkillSort.UPDATED: "skill.updated_at",
    SkillSort.NEWEST: "skill.created_at",
    SkillSort.INSTALLS: "skill.installs",
    SkillSort.STARS: "coalesce(skill.stars, -1)",
    SkillSort.TRENDING: "skill.trending_7d",
    SkillSort.NAME: "skill.name",
}


@dataclass(frozen=True)
class WalkedSkills:
    """Ids in order, and the cursor of the next page, if any."""

    ids: list[UUID]
    next: SkillCursor | None


@dataclass(frozen=True)
class FilterCounts:
    """The number of listings that match a filter, in total and by category and tier, up to MAX_SORTED."""

    number: int
    are_all: bool
    categories: Mapping[str, int]
    tiers: Mapping[str, int]


def ordering(sort: SkillSort) -> str:
    """Return the ORDER BY clause on key and id."""
    return "key, id" if sort is SkillSort.NAME else "key DESC, id DESC"


def walking(sort: SkillSort) -> str:
    """Return the ORDER BY clause on the columns of the index."""
    return f"{KEYS[sort]}, skill.id" if sort is SkillSort.NAME else f"{KEYS[sort]} DESC, skill.id DESC"


def is_after(sort: SkillSort, key: str) -> str:
    """Return the condition that a row comes after the cursor bound as `after_key` and `after_id`."""
    return f"({key}, skill.id) {'>' if sort is SkillSort.NAME else '<'} (:after_key, :after_id)"


async def count_filtered(db: AsyncConnection, filters: SkillFilters) -> FilterCounts:
    """Count matching listings by the index of search documents, up to MAX_SORTED."""
    marks = by_marks(filters)
    sql = f"""
        WITH few AS MATERIALIZED (
            SELECT skill.category, skill.tier FROM skill WHERE {LIVE} AND {marks.sql} LIMIT {MAX_SORTED + 1}
        )
        SELECT (SELECT count(*) FROM few) AS number,
            (SELECT jsonb_object_agg(category, number) FROM
                (SELECT category, count(*) AS number FROM few GROUP BY category) AS counted) AS categories,
            (SELECT jsonb_object_agg(tier, number) FROM
                (SELECT tier, count(*) AS number FROM few GROUP BY tier) AS counted) AS tiers
    """
    row = (await db.execute(_statement(sql), marks.values)).one()
    return FilterCounts(min(row.number, MAX_SORTED), row.number <= MAX_SORTED, row.categories or {}, row.tiers or {})


async def walk_few(
    db: AsyncConnection, filters: SkillFilters, sort: SkillSort, *, after: SkillCursor | None, limit: int, offset: int
) -> WalkedSkills:
    """Return a page by reading and sorting all matching listings."""
    marks = by_marks(filters)
    sql = f"""
        SELECT id, key FROM (
            SELECT skill.id, {KEYS[sort]} AS key FROM skill WHERE {LIVE} AND {marks.sql} AND {_later(sort, after)}
            LIMIT {MAX_SORTED}
        ) AS few ORDER BY {ordering(sort)} LIMIT {limit + 1} OFFSET {offset}
    """
    rows = (await db.execute(_statement(sql), {**marks.values, **_cursor_params(after)})).all()
    return WalkedSkills([row.id for row in rows[:limit]], _cursor(rows[limit - 1]) if len(rows) > limit else None)


async def walk_many(
    db: AsyncConnection, filters: SkillFilters, sort: SkillSort, *, after: SkillCursor | None, limit: int, offset: int
) -> WalkedSkills:
    """Return a page by walking the index of the order, reading at most MAX_SCANNED rows."""
    columns = by_columns(filters)
    look = MAX_SCANNED if filters != SkillFilters() else offset + limit + 1
    walked = f"""
        SELECT skill.id, {KEYS[sort]} AS key, {columns.sql} AS is_met
        FROM skill WHERE {LIVE} AND {_later(sort, after)} ORDER BY {walking(sort)} LIMIT {look}
    """
    values = {**columns.values, **_cursor_params(after)}
    # The walk stops when the page is full.
    page = f"SELECT id, key FROM ({walked}) AS walked WHERE is_met LIMIT {limit + 1} OFFSET {offset}"
    rows = (await db.execute(_statement(page), values)).all()
    if len(rows) > limit:
        return WalkedSkills([row.id for row in rows[:limit]], _cursor(rows[limit - 1]))
    if filters == SkillFilters():
        return WalkedSkills([row.id for row in rows], None)
    end = f"SELECT id, key FROM ({walked}) AS walked OFFSET {look - 1}"
    last = (await db.execute(_statement(end), values)).one_or_none()
    return WalkedSkills([row.id for row in rows], _cursor(last) if last else None)


def _later(sort: SkillSort, after: SkillCursor | None) -> str:
    return is_after(sort, KEYS[sort]) if after else "true"


def _cursor_params(after: SkillCursor | None) -> dict[str, object]:
    return {"after_key": after[0], "after_id": after[1]} if after else {}


def _cursor(row: Any) -> SkillCursor:
    return (row.key, row.id)


@lru_cache(maxsize=256)
def _statement(sql: str) -> TextClause:
    return text(sql)
