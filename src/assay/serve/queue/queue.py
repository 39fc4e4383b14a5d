"""Pages of the queue: submissions with their positions, and the counts at the same moment."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.submission import SortDirection, State, Submission, SubmissionFilters, SubmissionOrder, SubmissionSort
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.queue.position import find_waiting_positions
from assay.serve.queue.processing_order import (
    list_by_processing_order,
    list_matching_by_processing_order,
    processing_states,
)
from assay.serve.submissions.list import ListRequest, SubmissionList, list_in_states, list_matching
from assay.serve.submissions.stats import Stats, read_stats
from assay.store.queue.position import Position

MAX_OFFSET = 10_000
MIN_QUERY_LENGTH, MAX_QUERY_LENGTH = 2, 100
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Number = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
CURSOR_TYPES: Mapping[SubmissionSort, Any] = {
    SubmissionSort.CREATED_AT: tuple[Moment, UUID],
    SubmissionSort.UPDATED_AT: tuple[Moment, UUID],
    SubmissionSort.SKILL_NAME: tuple[str, UUID],
    SubmissionSort.STATE: tuple[State, Moment, UUID],
    SubmissionSort.PROCESSING_ORDER: tuple[Annotated[int, msgspec.Meta(ge=0, le=3)], Number, Number],
}


@dataclass(frozen=True)
class QueueQuery:
    """A page of the queue to read; `offset` and `cursor` exclude each other."""

    filters: SubmissionFilters = field(default_factory=SubmissionFilters)
    order: SubmissionOrder = field(default_factory=SubmissionOrder)
    limit: int = 50
    cursor: str | None = None
    offset: int | None = None


@dataclass(frozen=True)
class QueuePage:
    """A page of submissions, the positions of those that wait, and the counts at the same moment."""

    submissions: list[Submission]
    positions: Mapping[UUID, Position]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    stats: Stats


async def read_queue(db: AsyncConnection, query: QueueQuery, now: datetime) -> QueuePage:
    """Read a page. The connection must be a snapshot, so that list, positions and counts agree. Raises Invalid."""
    query = _validated(query)
    fingerprint = list_fingerprint(query)
    stats = await read_stats(db, now)
    listed = await _list(db, _request(query, fingerprint), stats.by_state)
    return QueuePage(
        submissions=listed.submissions,
        positions=await find_waiting_positions(db, listed.submissions),
        total=listed.total,
        total_is_exact=listed.total_is_exact,
        next_cursor=encode_cursor(fingerprint, listed.next) if listed.next else None,
        stats=stats,
    )


async def _list(db: AsyncConnection, request: ListRequest, by_state: Mapping[State, int]) -> SubmissionList:
    match request.order.sort is SubmissionSort.PROCESSING_ORDER, request.filters.need_counting:
        case False, False:
            return await list_in_states(db, request, by_state)
        case False, True:
            return await list_matching(db, request, by_state)
        case True, False:
            return await list_by_processing_order(db, request, by_state)
        case _:
            return await list_matching_by_processing_order(db, request, by_state)


def _validated(query: QueueQuery) -> QueueQuery:
    """Return the query with its states filled in; raises Invalid naming the wrong parameter."""
    words = query.filters.words
    if words is not None and not MIN_QUERY_LENGTH <= len(words) <= MAX_QUERY_LENGTH:
        raise Invalid(f"q: must have {MIN_QUERY_LENGTH} to {MAX_QUERY_LENGTH} characters.", code="bad_query")
    if query.offset is not None and query.cursor is not None:
        raise Invalid("offset: cannot be combined with cursor.", code="bad_offset")
    if not 0 <= (query.offset or 0) <= MAX_OFFSET:
        message = f"offset: must be between 0 and {MAX_OFFSET:,}. To read on, use the `nextCursor` of a page as cursor."
        raise Invalid(message, code="bad_offset")
    if query.order.sort is not SubmissionSort.PROCESSING_ORDER:
        return query
    if query.order.direction is SortDirection.DESC:
        raise Invalid("dir: must be asc for sort=processingOrder.", code="bad_sort")
    return replace(query, filters=replace(query.filters, states=processing_states(query.filters.states)))


def _request(query: QueueQuery, fingerprint: str) -> ListRequest:
    kind = CURSOR_TYPES[query.order.sort]
    after = decode_cursor(query.cursor, fingerprint, kind) if query.cursor is not None else None
    return ListRequest(query.filters, query.order, after, query.offset or 0, query.limit)


def list_fingerprint(query: QueueQuery) -> str:
    """Identify a list by its order and filters; the same for all of its pages."""
    identity = msgspec.json.encode([query.order, query.filters], order="deterministic")
    return hashlib.sha256(identity).hexdigest()[:12]
