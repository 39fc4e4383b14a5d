"""Ordered walks: pages of submissions at a cost that does not grow with their number.

A list of some states is the merge of one index walk a state, so that one index for each order serves every set of
states. What no index has is filtered on the way, and a walk looks at so many rows and no further. The statements are
written out, because putting them together from objects takes longer than the database takes to run them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State, Submission
from assay.model.submission_list import Order, Sort
from assay.store.repositories.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.submissions.submissions import COLUMNS, submission_of

# Where a row stands in an order: its values there, the id last.
Place = tuple[Any, ...]

LOOK_AT_MOST = 10_000
KEYS = {
    Sort.CREATED_AT: "created_at",
    Sort.UPDATED_AT: "updated_at",
    Sort.SKILL_NAME: "skill_name",
    Sort.STATE: "created_at",
}
# What a condition may ask of a row on the way.
CARRIED = "repository_id, skill_name, state, origin, submitter, reason_code"
SHOWN = ", ".join(
    [
        *(f"submission.{column.name}" for column in COLUMNS),
        *(f"repository.{column.name}" for column in REPOSITORY_COLUMNS),
    ]
)


@dataclass(frozen=True)
class Range:
    """Submissions that lie together in an index; of one state, if it is given."""

    where: str
    state: State | None = None


EVERYTHING = (Range("true"),)


def in_states(states: Iterable[State]) -> tuple[Range, ...]:
    """One range for each state."""
    return tuple(Range(f"state = '{state}'", state) for state in sorted(states))


@dataclass(frozen=True)
class Walk:
    """Ranges, walked together in an order from after a place, `look` rows far; what is shown meets the conditions."""

    ranges: tuple[Range, ...]
    order: Order
    after: Place | None = None
    look: int = LOOK_AT_MOST
    conditions: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def bound(self) -> dict[str, object]:
        """Every value that the statements need."""
        key, number = self.after[-2:] if self.after else (None, None)
        return {**self.values, **({"after_key": key, "after_id": number} if self.after else {})}

    @property
    def rows(self) -> str:
        """All rows that are looked at."""
        parts = [self._part(each) for each in self.ranges]
        if len(parts) == 1:
            return parts[0]
        merged = " UNION ALL ".join(f"({part})" for part in parts)
        return f"SELECT * FROM ({merged}) AS merged ORDER BY {self.ordering()} LIMIT {self.look}"

    @property
    def met(self) -> str:
        """What is asked of each of them."""
        return " AND ".join(self.conditions) or "true"

    def ordering(self, prefix: str = "") -> str:
        """The order, by the columns of `rows`."""
        # Only where it matters: a rank that is always the same would hide that the rows are in order already.
        rank = f"{prefix}rank, " if self.order.sort is Sort.STATE else ""
        return f"{rank}{prefix}key{self._direction}, {prefix}id{self._direction}"

    def place_of(self, row: Submission) -> Place:
        """Where a submission stands in this order."""
        key = getattr(row, KEYS[self.order.sort])
        return (row.state, key, row.id) if self.order.sort is Sort.STATE else (key, row.id)

    @property
    def _is_reversed(self) -> bool:
        return self.order.sort is Sort.STATE or self.order.descending

    @property
    def _direction(self) -> str:
        return " DESC" if self._is_reversed else ""

    @property
    def ranking(self) -> list[State]:
        """The states in their order."""
        return list(State)[::-1] if self.order.descending else list(State)

    def _part(self, part: Range) -> str:
        rank, key = self._rank(part), KEYS[self.order.sort]
        by = f"{key}{self._direction}, id{self._direction}"
        carried = f", {CARRIED}" if self.conditions else ""
        return (
            f"SELECT id, {rank} AS rank, {key} AS key{carried} FROM submission "
            f"WHERE {part.where} AND {self._is_later(part)} ORDER BY {by if rank.isdecimal() else f'{rank}, {by}'} "
            f"LIMIT {self.look}"
        )

    def _rank(self, part: Range) -> str:
        if self.order.sort is not Sort.STATE:
            return "0"
        if part.state is not None:
            return str(self.ranking.index(part.state))
        states = ", ".join(f"'{state}'" for state in self.ranking)
        return f"(array_position(ARRAY[{states}], state) - 1)"

    def _is_later(self, part: Range) -> str:
        if self.after is None:
            return "true"
        beyond = f"({KEYS[self.order.sort]}, id) {'<' if self._is_reversed else '>'} (:after_key, :after_id)"
        if self.order.sort is not Sort.STATE:
            return beyond
        reached, rank = self.ranking.index(self.after[0]), self._rank(part)
        if not rank.isdecimal():
            return f"({rank} > {reached} OR {rank} = {reached} AND {beyond})"
        return beyond if int(rank) == reached else str(int(rank) > reached).lower()


async def read_page(db: AsyncConnection, walk: Walk, *, limit: int, offset: int) -> list[Submission]:
    """The rows of a walk that meet its conditions, from the offset."""
    sql = (
        f"SELECT {SHOWN} FROM (SELECT id, rank, key FROM ({walk.rows}) AS walked WHERE {walk.met} "
        f"ORDER BY {walk.ordering()} LIMIT {limit} OFFSET {offset}) AS page "
        "JOIN submission ON submission.id = page.id JOIN repository ON repository.id = submission.repository_id "
        f"ORDER BY {walk.ordering('page.')}"
    )
    return [submission_of(row) for row in await db.execute(_statement(sql), walk.bound)]


async def count_walked(db: AsyncConnection, walk: Walk) -> int:
    """How many rows of a walk meet its conditions."""
    sql = f"SELECT count(*) FROM ({walk.rows}) AS walked WHERE {walk.met}"
    return int((await db.execute(_statement(sql), walk.bound)).scalar_one())


async def list_rounds(db: AsyncConnection, walk: Walk) -> list[tuple[UUID, int]]:
    """Id and cycle of all rows of a walk that meet its conditions."""
    cycle = "(SELECT cycle FROM submission WHERE submission.id = walked.id) AS cycle"
    sql = f"SELECT id, {cycle} FROM ({walk.rows}) AS walked WHERE {walk.met}"
    return [(row.id, row.cycle) for row in await db.execute(_statement(sql), walk.bound)]


async def end_of(db: AsyncConnection, walk: Walk) -> Place | None:
    """The place where a walk stopped looking; None if it came to the end."""
    sql = f"SELECT rank, key, id FROM ({walk.rows}) AS walked ORDER BY {walk.ordering()} OFFSET {walk.look - 1} LIMIT 1"
    last = (await db.execute(_statement(sql), walk.bound)).one_or_none()
    if last is None:
        return None
    return (walk.ranking[last.rank], last.key, last.id) if walk.order.sort is Sort.STATE else (last.key, last.id)


@lru_cache(maxsize=512)
def _statement(sql: str) -> TextClause:
    return text(sql)
