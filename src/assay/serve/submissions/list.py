"""Lists of submissions: any filter, any order, at a cost that does not grow with the registry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.submission import State, Submission
from assay.model.submission_list import Filters, Order, Sort
from assay.store.submissions.filters import Candidates, ask, look_up_words, measure_filters
from assay.store.submissions.walks import (
    EVERYTHING,
    LOOK_AT_MOST,
    Place,
    Walk,
    count_walked,
    end_of,
    in_states,
    read_page,
)

# So few rows are looked through at once more cheaply than words are looked up in the index of names.
FEW = 500
# Of filters that all leave many, the one that is likely to leave the least; each has an index in the order of time.
PREFERENCE = ("submitter", "reason", "states", "origin", "everything")


@dataclass(frozen=True)
class Wanted:
    """One page of one list: after a place, or from an offset."""

    filters: Filters
    order: Order
    after: Place | None
    offset: int
    limit: int


@dataclass(frozen=True)
class Listed:
    """A page, how many there are in all, and the place after which the next page starts."""

    submissions: list[Submission]
    total: int
    total_is_exact: bool
    next: Place | None


@dataclass(frozen=True)
class Search:
    """The candidates that are walked, and what is still to be asked of each."""

    candidates: Candidates
    conditions: tuple[str, ...]
    values: Mapping[str, object]

    def walk(self, order: Order, after: Place | None = None) -> Walk:
        """All of them, or as many as may be looked at."""
        return Walk(self.candidates.ranges, order, after, conditions=self.conditions, values=self.values)


async def list_in_states(db: AsyncConnection, wanted: Wanted, by_state: Mapping[State, int]) -> Listed:
    """By state only: the counters know the total, and every row that is read is shown."""
    states = wanted.filters.states
    ranges = EVERYTHING if states is None and wanted.order.sort is Sort.CREATED_AT else in_states(states or State)
    walk = Walk(ranges, wanted.order, wanted.after, look=wanted.offset + wanted.limit + 1)
    found = await read_page(db, walk, limit=wanted.limit + 1, offset=wanted.offset)
    total = sum(by_state[state] for state in states or State)
    return Listed(found[: wanted.limit], total, total_is_exact=True, next=_next(found, wanted, walk))


async def list_matching(db: AsyncConnection, wanted: Wanted, by_state: Mapping[State, int]) -> Listed:
    """By anything: looks at LOOK_AT_MOST rows a page, so a page may be short and the next one has more."""
    search = await search_for(db, wanted.filters, by_state)
    if wanted.order.sort is not Sort.CREATED_AT and not search.candidates.are_few:
        raise too_many_to_sort()
    walk = search.walk(wanted.order, wanted.after)
    found = await read_page(db, walk, limit=wanted.limit + 1, offset=wanted.offset)
    onward = _next(found, wanted, walk)
    if onward is None and not search.candidates.are_few:
        onward = await end_of(db, walk)
    return Listed(found[: wanted.limit], await _total(db, search, wanted, found), search.candidates.are_few, onward)


async def search_for(db: AsyncConnection, filters: Filters, by_state: Mapping[State, int]) -> Search:
    """The smallest set that holds all matches and that one index leads to."""
    asked = await ask(db, filters)
    known = [Candidates("everything", EVERYTHING, sum(by_state.values()))]
    if filters.states is not None:
        number = sum(by_state[state] for state in filters.states)
        known.append(Candidates("states", in_states(filters.states), number))
    known += await measure_filters(db, asked)
    if filters.words is not None and min(each.number for each in known) > FEW:
        looked_up = await look_up_words(db, filters.words)
        known += [looked_up] if looked_up else []
    best = _best(known)
    unasked = tuple(condition for name, condition in asked.conditions.items() if name != best.filter)
    return Search(best, unasked, {**asked.values, **best.values})


def too_many_to_sort() -> Invalid:
    """More match than can be sorted."""
    message = (
        f"sort: more than {LOOK_AT_MOST:,} submissions may match, and only createdAt can order so many. "
        "Narrow the filters, or sort by createdAt."
    )
    return Invalid(message, code="too_many_to_sort")


def _best(known: Sequence[Candidates]) -> Candidates:
    smallest = min(known, key=lambda each: each.number)
    if smallest.are_few:
        return smallest
    by_name = {each.filter: each for each in known}
    return next(by_name[name] for name in PREFERENCE if name in by_name)


async def _total(db: AsyncConnection, search: Search, wanted: Wanted, found: Sequence[Submission]) -> int:
    """How many match among the candidates that are looked at from the start."""
    if not search.conditions:
        return min(search.candidates.number, LOOK_AT_MOST)
    is_first = wanted.after is None and wanted.offset == 0
    if is_first and len(found) <= wanted.limit and (search.candidates.are_few or wanted.order == Order()):
        return len(found)
    return await count_walked(db, search.walk(Order()))


def _next(found: Sequence[Submission], wanted: Wanted, walk: Walk) -> Place | None:
    return walk.place_of(found[wanted.limit - 1]) if len(found) > wanted.limit else None
