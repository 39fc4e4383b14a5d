"""Pages of the catalogue at a cost that does not grow with it.

A list is a walk along the index of its order. What a filter leaves is either so little that all of it is read by the
index of search documents and sorted, or so much that a walk meets enough of it before long. A walk looks at so many
rows and no further, so that a page may be short and the next one has more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill_list import Filters, Sort
from assay.store.skills.filters import LIVE, by_columns, by_marks

# Where a listing stands in an order: its value there, and its id.
Place = tuple[Any, UUID]

# So many are sorted at once.
FEW = 2_000
LOOK_AT_MOST = 10_000
KEYS: Mapping[Sort, str] = {
    Sort.UPDATED: "skill.updated_at",
    Sort.NEWEST: "skill.created_at",
    Sort.INSTALLS: "skill.installs",
    Sort.STARS: "coalesce(skill.stars, -1)",
    Sort.TRENDING: "skill.trending_7d",
    Sort.NAME: "skill.name",
}


@dataclass(frozen=True)
class Walked:
    """Ids in their order with their places, and whether there is more after the last one."""

    ids: list[UUID]
    next: Place | None


@dataclass(frozen=True)
class Gathered:
    """All that a filter leaves, if that is few: their number, and how many there are of each kind."""

    number: int
    are_all: bool
    categories: Mapping[str, int]
    tiers: Mapping[str, int]


def ordering(sort: Sort) -> str:
    """The order of a list, by its key and the id."""
    return "key, id" if sort is Sort.NAME else "key DESC, id DESC"


def walking(sort: Sort) -> str:
    """The same, as the index of the order has it."""
    return f"{KEYS[sort]}, skill.id" if sort is Sort.NAME else f"{KEYS[sort]} DESC, skill.id DESC"


def is_after(sort: Sort, key: str) -> str:
    """Whether a row comes after the place that is bound as `after_key` and `after_id`."""
    return f"({key}, skill.id) {'>' if sort is Sort.NAME else '<'} (:after_key, :after_id)"


async def gather(db: AsyncConnection, filters: Filters) -> Gathered:
    """How many match, up to FEW, by the index of search documents."""
    marks = by_marks(filters)
    sql = f"""
        WITH few AS MATERIALIZED (
            SELECT skill.category, skill.tier FROM skill WHERE {LIVE} AND {marks.sql} LIMIT {FEW + 1}
        )
        SELECT (SELECT count(*) FROM few) AS number,
            (SELECT jsonb_object_agg(category, number) FROM
                (SELECT category, count(*) AS number FROM few GROUP BY category) AS counted) AS categories,
            (SELECT jsonb_object_agg(tier, number) FROM
                (SELECT tier, count(*) AS number FROM few GROUP BY tier) AS counted) AS tiers
    """
    row = (await db.execute(_statement(sql), marks.values)).one()
    return Gathered(min(row.number, FEW), row.number <= FEW, row.categories or {}, row.tiers or {})


async def walk_few(
    db: AsyncConnection, filters: Filters, sort: Sort, *, after: Place | None, limit: int, offset: int
) -> Walked:
    """All that a filter leaves, sorted."""
    marks = by_marks(filters)
    sql = f"""
        SELECT id, key FROM (
            SELECT skill.id, {KEYS[sort]} AS key FROM skill WHERE {LIVE} AND {marks.sql} AND {_later(sort, after)}
            LIMIT {FEW}
        ) AS few ORDER BY {ordering(sort)} LIMIT {limit + 1} OFFSET {offset}
    """
    rows = (await db.execute(_statement(sql), {**marks.values, **_bound(after)})).all()
    return Walked([row.id for row in rows[:limit]], _place(rows[limit - 1]) if len(rows) > limit else None)


async def walk_many(
    db: AsyncConnection, filters: Filters, sort: Sort, *, after: Place | None, limit: int, offset: int
) -> Walked:
    """Along the index of the order, as far as LOOK_AT_MOST rows."""
    columns = by_columns(filters)
    look = LOOK_AT_MOST if filters != Filters() else offset + limit + 1
    walked = f"""
        SELECT skill.id, {KEYS[sort]} AS key, {columns.sql} AS is_met
        FROM skill WHERE {LIVE} AND {_later(sort, after)} ORDER BY {walking(sort)} LIMIT {look}
    """
    values = {**columns.values, **_bound(after)}
    # The walk ends when the page is full.
    page = f"SELECT id, key FROM ({walked}) AS walked WHERE is_met LIMIT {limit + 1} OFFSET {offset}"
    rows = (await db.execute(_statement(page), values)).all()
    if len(rows) > limit:
        return Walked([row.id for row in rows[:limit]], _place(rows[limit - 1]))
    if filters == Filters():
        return Walked([row.id for row in rows], None)
    end = f"SELECT id, key FROM ({walked}) AS walked OFFSET {look - 1}"
    last = (await db.execute(_statement(end), values)).one_or_none()
    return Walked([row.id for row in rows], _place(last) if last else None)


def _later(sort: Sort, after: Place | None) -> str:
    return is_after(sort, KEYS[sort]) if after else "true"


def _bound(after: Place | None) -> dict[str, object]:
    return {"after_key": after[0], "after_id": after[1]} if after else {}


def _place(row: Any) -> Place:
    return (row.key, row.id)


@lru_cache(maxsize=256)
def _statement(sql: str) -> TextClause:
    return text(sql)
