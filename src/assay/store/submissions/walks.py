"""Pages of submissions at a cost that does not grow with their number.

A list of several states merges one index walk per state, so that one index per order serves every set of states.
Other conditions are checked on the way, and a walk reads a bounded number of rows. The statements are put together
as text, because building them from objects takes longer than running them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State, Submission, SubmissionOrder, SubmissionSort
from assay.store.submissions.submissions import ROW, submission_of

# The values of a row in the order of a list, with the id last.
WalkCursor = tuple[Any, ...]

MAX_SCANNED = 10_000
KEYS = {
    SubmissionSort.CREATED_AT: "created_at",
    SubmissionSort.UPDATED_AT: "updated_at",
    SubmissionSort.SKILL_NAME: "skill_name",
    SubmissionSort.STATE: "created_at",
}
# Columns that a condition may refer to.
CARRIED = "repository_id, skill_name, state, origin, submitter, reason_code"


@dataclass(frozen=True)
class IndexRange:
    """A contiguous range of an index, of one state if given."""

    where: str
    state: State | None = None


EVERYTHING = (IndexRange("true"),)


def in_states(states: Iterable[State]) -> tuple[IndexRange, ...]:
    return tuple(IndexRange(f"state = '{state}'", state) for state in sorted(states))


@dataclass(frozen=True)
class Walk:
    """Ranges merged in an order after a cursor; reads at most `max_rows` rows and keeps those that match."""

    ranges: tuple[IndexRange, ...]
    order: SubmissionOrder
    after: WalkCursor | None = None
    max_rows: int = MAX_SCANNED
    conditions: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def params(self) -> dict[str, object]:
        """Parameters of the statements."""
        key, number = self.after[-2:] if self.after else (None, None)
        return {**self.values, **({"after_key": key, "after_id": number} if self.after else {})}

    @property
    def rows(self) -> str:
        """SQL of all rows that are read."""
        parts = [self._part(each) for each in self.ranges]
        if len(parts) == 1:
            return parts[0]
        merged = " UNION ALL ".join(f"({part})" for part in parts)
        return f"SELECT * FROM ({merged}) AS merged ORDER BY {self.ordering()} LIMIT {self.max_rows}"

    @property
    def condition(self) -> str:
        """SQL condition for each row."""
        return " AND ".join(self.conditions) or "true"

    def ordering(self, prefix: str = "") -> str:
        """Return the ORDER BY clause on the columns of `rows`."""
        # Only if needed: a constant rank would hide from the planner that the rows are already sorted.
        rank = f"{prefix}rank, " if self.order.sort is SubmissionSort.STATE else ""
        return f"{rank}{prefix}key{self._direction}, {prefix}id{self._direction}"

    def cursor_of(self, row: Submission) -> WalkCursor:
        """Return the cursor of a submission in this order."""
        key = getattr(row, KEYS[self.order.sort])
        return (row.state, key, row.id) if self.order.sort is SubmissionSort.STATE else (key, row.id)

    @property
    def _is_reversed(self) -> bool:
        return self.order.sort is SubmissionSort.STATE or self.order.descending

    @property
    def _direction(self) -> str:
        return " DESC" if self._is_reversed else ""

    @property
    def ranking(self) -> list[State]:
        return list(State)[::-1] if self.order.descending else list(State)

    def _part(self, part: IndexRange) -> str:
        rank, key = self._rank(part), KEYS[self.order.sort]
        by = f"{key}{self._direction}, id{self._direction}"
        carried = f", {CARRIED}" if self.conditions else ""
        return (
            f"SELECT id, {rank} AS rank, {key} AS key{carried} FROM submission "
            f"WHERE {part.where} AND {self._is_later(part)} ORDER BY {by if rank.isdecimal() else f'{rank}, {by}'} "
            f"LIMIT {self.max_rows}"
        )

    def _rank(self, part: IndexRange) -> str:
        if self.order.sort is not SubmissionSort.STATE:
            return "0"
        if part.state is not None:
            return str(self.ranking.index(part.state))
        states = ", ".join(f"'{state}'" for state in self.ranking)
        return f"(array_position(ARRAY[{states}], state) - 1)"

    def _is_later(self, part: IndexRange) -> str:
        if self.after is None:
            return "true"
        beyond = f"({KEYS[self.order.sort]}, id) {'<' if self._is_reversed else '>'} (:after_key, :after_id)"
        if self.order.sort is not SubmissionSort.STATE:
            return beyond
        reached, rank = self.ranking.index(self.after[0]), self._rank(part)
        if not rank.isdecimal():
            return f"({rank} > {reached} OR {rank} = {reached} AND {beyond})"
        return beyond if int(rank) == reached else str(int(rank) > reached).lower()


async def read_page(db: AsyncConnection, walk: Walk, *, limit: int, offset: int) -> list[Submission]:
    """Return the matching rows of a walk from the offset."""
    sql = (
        f"SELECT {ROW} FROM (SELECT id, rank, key FROM ({walk.rows}) AS walked WHERE {walk.condition} "
        f"ORDER BY {walk.ordering()} LIMIT {limit} OFFSET {offset}) AS page "
        "JOIN submission ON submission.id = page.id JOIN repository ON repository.id = submission.repository_id "
        f"ORDER BY {walk.ordering('page.')}"
    )
    return [submission_of(row) for row in await db.execute(_statement(sql), walk.params)]


async def count_matching(db: AsyncConnection, walk: Walk) -> int:
    """Count the matching rows of a walk."""
    sql = f"SELECT count(*) FROM ({walk.rows}) AS walked WHERE {walk.condition}"
    return int((await db.execute(_statement(sql), walk.params)).scalar_one())


async def list_cycles(db: AsyncConnection, walk: Walk) -> list[tuple[UUID, int]]:
    """Return id and cycle of all matching rows of a walk."""
    cycle = "(SELECT cycle FROM submission WHERE submission.id = walked.id) AS cycle"
    sql = f"SELECT id, {cycle} FROM ({walk.rows}) AS walked WHERE {walk.condition}"
    return [(row.id, row.cycle) for row in await db.execute(_statement(sql), walk.params)]


async def find_walk_end(db: AsyncConnection, walk: Walk) -> WalkCursor | None:
    """Return the cursor at which a walk stopped; None if it reached the end."""
    last_row = f"ORDER BY {walk.ordering()} OFFSET {walk.max_rows - 1} LIMIT 1"
    sql = f"SELECT rank, key, id FROM ({walk.rows}) AS walked {last_row}"
    last = (await db.execute(_statement(sql), walk.params)).one_or_none()
    if last is None:
        return None
    return (
        (walk.ranking[last.rank], last.key, last.id) if walk.order.sort is SubmissionSort.STATE else (last.key, last.id)
    )


@lru_cache(maxsize=512)
def _statement(sql: str) -> TextClause:
    return text(sql)
