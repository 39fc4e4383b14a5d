"""Lists of submissions with any filter and order, at a bounded cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.submission import State, Submission, SubmissionFilters, SubmissionOrder, SubmissionSort
from assay.store.submissions.filters import Candidates, build_conditions, find_by_words, measure_filters
from assay.store.submissions.walks import (
    EVERYTHING,
    MAX_SCANNED,
    Walk,
    WalkCursor,
    count_matching,
    find_walk_end,
    in_states,
    read_page,
)

# Filtering this many rows directly is cheaper than an index lookup of words.
FEW = 500
# The filter to scan by if all match many rows, most selective first; each has an index ordered by time.
PREFERENCE = ("submitter", "reason", "states", "origin", "everything")


@dataclass(frozen=True)
class ListRequest:
    """A page of a list: after a cursor, or from an offset."""

    filters: SubmissionFilters
    order: SubmissionOrder
    after: WalkCursor | None
    offset: int
    limit: int


@dataclass(frozen=True)
class SubmissionList:
    """A page, the total, and the cursor of the next page."""

    submissions: list[Submission]
    total: int
    total_is_exact: bool
    next: WalkCursor | None


@dataclass(frozen=True)
class Search:
    """The candidate rows to scan, and the remaining conditions."""

    candidates: Candidates
    conditions: tuple[str, ...]
    values: Mapping[str, object]

    def walk(self, order: SubmissionOrder, after: WalkCursor | None = None) -> Walk:
        """Return a walk over the candidates, up to MAX_SCANNED rows."""
        return Walk(self.candidates.ranges, order, after, conditions=self.conditions, values=self.values)


async def list_in_states(db: AsyncConnection, request: ListRequest, by_state: Mapping[State, int]) -> SubmissionList:
    """List by state only: the counters give the total, and every row read is returned."""
    states = request.filters.states
    ranges = (
        EVERYTHING if states is None and request.order.sort is SubmissionSort.CREATED_AT else in_states(states or State)
    )
    walk = Walk(ranges, request.order, request.after, max_rows=request.offset + request.limit + 1)
    found = await read_page(db, walk, limit=request.limit + 1, offset=request.offset)
    total = sum(by_state[state] for state in states or State)
    return SubmissionList(found[: request.limit], total, total_is_exact=True, next=_next(found, request, walk))


async def list_matching(db: AsyncConnection, request: ListRequest, by_state: Mapping[State, int]) -> SubmissionList:
    """List by any filter: scans at most MAX_SCANNED rows per page, so a page may be short and still have a next one."""
    search = await search_for(db, request.filters, by_state)
    if request.order.sort is not SubmissionSort.CREATED_AT and not search.candidates.are_few:
        raise too_many_to_sort()
    walk = search.walk(request.order, request.after)
    found = await read_page(db, walk, limit=request.limit + 1, offset=request.offset)
    cursor = _next(found, request, walk)
    if cursor is None and not search.candidates.are_few:
        cursor = await find_walk_end(db, walk)
    return SubmissionList(
        found[: request.limit], await _total(db, search, request, found), search.candidates.are_few, cursor
    )


async def search_for(db: AsyncConnection, filters: SubmissionFilters, by_state: Mapping[State, int]) -> Search:
    """Choose the smallest set of candidates that contains all matches and has an index."""
    parts = await build_conditions(db, filters)
    known = [Candidates("everything", EVERYTHING, sum(by_state.values()))]
    if filters.states is not None:
        number = sum(by_state[state] for state in filters.states)
        known.append(Candidates("states", in_states(filters.states), number))
    known += await measure_filters(db, parts)
    if filters.words is not None and min(each.number for each in known) > FEW:
        by_words = await find_by_words(db, filters.words)
        known += [by_words] if by_words else []
    best = _best(known)
    remaining = tuple(condition for name, condition in parts.conditions.items() if name != best.filter)
    return Search(best, remaining, {**parts.values, **best.values})


def too_many_to_sort() -> Invalid:
    message = (
        f"sort: more than {MAX_SCANNED:,} submissions may match, and only createdAt can sort that many. "
        "Narrow the filters, or use sort=createdAt."
    )
    return Invalid(message, code="too_many_to_sort")


def _best(known: Sequence[Candidates]) -> Candidates:
    smallest = min(known, key=lambda each: each.number)
    if smallest.are_few:
        return smallest
    by_name = {each.filter: each for each in known}
    return next(by_name[name] for name in PREFERENCE if name in by_name)


async def _total(db: AsyncConnection, search: Search, request: ListRequest, found: Sequence[Submission]) -> int:
    """Count the matches among the first MAX_SCANNED candidates."""
    if not search.conditions:
        return min(search.candidates.number, MAX_SCANNED)
    is_first = request.after is None and request.offset == 0
    if is_first and len(found) <= request.limit and (search.candidates.are_few or request.order == SubmissionOrder()):
        return len(found)
    return await count_matching(db, search.walk(SubmissionOrder()))


def _next(found: Sequence[Submission], request: ListRequest, walk: Walk) -> WalkCursor | None:
    return walk.cursor_of(found[request.limit - 1]) if len(found) > request.limit else None
