"""The queue as people see it: pages of submissions, with positions and numbers of the same moment."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.submission import State, Submission
from assay.model.submission_list import Direction, Filters, Order, Sort
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.queue.position import position_of_all
from assay.serve.queue.processing import list_in_line, list_matching_in_line, states_in_line
from assay.serve.submissions.list import Listed, Wanted, list_in_states, list_matching
from assay.serve.submissions.stats import Stats, read_stats
from assay.store.queue.position import Position

DEEPEST = 10_000
SHORTEST, LONGEST = 2, 100
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Number = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
PLACES: Mapping[Sort, Any] = {
    Sort.CREATED_AT: tuple[Moment, UUID],
    Sort.UPDATED_AT: tuple[Moment, UUID],
    Sort.SKILL_NAME: tuple[str, UUID],
    Sort.STATE: tuple[State, Moment, UUID],
    Sort.PROCESSING_ORDER: tuple[Annotated[int, msgspec.Meta(ge=0, le=3)], Number, Number],
}


@dataclass(frozen=True)
class QueueQuery:
    """What a reader of the queue asks for."""

    filters: Filters = field(default_factory=Filters)
    order: Order = field(default_factory=Order)
    limit: int = 50
    cursor: str | None = None
    offset: int | None = None


@dataclass(frozen=True)
class QueuePage:
    """A page of submissions, where those that wait stand, and the numbers of the same moment."""

    submissions: list[Submission]
    positions: Mapping[UUID, Position]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    stats: Stats


async def read_queue(db: AsyncConnection, query: QueueQuery, now: datetime) -> QueuePage:
    """The connection must be one snapshot, so that list, positions and numbers cannot disagree."""
    query = _checked(query)
    name = list_name(query)
    stats = await read_stats(db, now)
    listed = await _list(db, _wanted(query, name), stats.by_state)
    return QueuePage(
        submissions=listed.submissions,
        positions=await position_of_all(db, listed.submissions),
        total=listed.total,
        total_is_exact=listed.total_is_exact,
        next_cursor=encode_cursor(name, listed.next) if listed.next else None,
        stats=stats,
    )


async def _list(db: AsyncConnection, wanted: Wanted, by_state: Mapping[State, int]) -> Listed:
    match wanted.order.sort is Sort.PROCESSING_ORDER, wanted.filters.are_narrow:
        case False, False:
            return await list_in_states(db, wanted, by_state)
        case False, True:
            return await list_matching(db, wanted, by_state)
        case True, False:
            return await list_in_line(db, wanted, by_state)
        case _:
            return await list_matching_in_line(db, wanted, by_state)


def _checked(query: QueueQuery) -> QueueQuery:
    """The query, complete, or Invalid with the name of the parameter."""
    words = query.filters.words
    if words is not None and not SHORTEST <= len(words) <= LONGEST:
        raise Invalid(f"q: it must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    if query.offset is not None and query.cursor is not None:
        raise Invalid("offset: give either cursor or offset, not both.", code="bad_offset")
    if not 0 <= (query.offset or 0) <= DEEPEST:
        message = f"offset: from 0 to {DEEPEST:,}; to go on from there, use the `nextCursor` of the page as cursor."
        raise Invalid(message, code="bad_offset")
    if query.order.sort is not Sort.PROCESSING_ORDER:
        return query
    if query.order.direction is Direction.DESC:
        raise Invalid("dir: the order of processing has one direction, asc.", code="bad_sort")
    return replace(query, filters=replace(query.filters, states=states_in_line(query.filters.states)))


def _wanted(query: QueueQuery, name: str) -> Wanted:
    after = decode_cursor(query.cursor, name, PLACES[query.order.sort]) if query.cursor is not None else None
    return Wanted(query.filters, query.order, after, query.offset or 0, query.limit)


def list_name(query: QueueQuery) -> str:
    """The same for every page of one list, and for no other list."""
    meant = msgspec.json.encode([query.order, query.filters], order="deterministic")
    return hashlib.sha256(meant).hexdigest()[:12]
