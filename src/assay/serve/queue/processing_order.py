"""Submissions in processing order: those being processed first, then those that wait, in the order of claims."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.job import Job
from assay.model.submission import ACTIVE, State, SubmissionOrder
from assay.serve.submissions.list import ListRequest, SubmissionList, search_for, too_many_to_sort
from assay.store.queue.order import ClaimOrder, find_claim_orders, list_jobs_in_claim_order
from assay.store.submissions.submissions import find_cycles, find_submissions
from assay.store.submissions.walks import MAX_SCANNED, list_cycles

# Number of jobs read at a time after the first read.
NEXT_BATCH = 2_000


def processing_states(states: frozenset[State] | None) -> frozenset[State]:
    """Return the states that have a processing order; raises Invalid if others are requested."""
    if states is not None and not states <= ACTIVE:
        message = "sort: processingOrder requires active submissions; use state=RECEIVED or category=active."
        raise Invalid(message, code="bad_sort")
    return ACTIVE if states is None else states


async def list_by_processing_order(
    db: AsyncConnection, request: ListRequest, by_state: Mapping[State, int]
) -> SubmissionList:
    """List by state only: walks the queue, skipping jobs of submissions in other states."""
    states = request.filters.states or ACTIVE
    needed = request.offset + request.limit + 1
    line: list[tuple[ClaimOrder, UUID]] = []
    reached, size, scanned = ClaimOrder(*request.after) if request.after else None, needed, 0
    while len(line) < needed and scanned < MAX_SCANNED:
        jobs = await list_jobs_in_claim_order(db, after=reached, limit=size)
        cycles = await find_cycles(db, [job.subject_id for _, job in jobs], states)
        line += [(order, job.subject_id) for order, job in jobs if cycles.get(job.subject_id) == job.cycle]
        scanned += len(jobs)
        reached = jobs[-1][0] if len(jobs) == size else None
        size = NEXT_BATCH
        if reached is None:
            break
    page = line[request.offset : request.offset + request.limit]
    cursor = page[-1][0] if page and len(line) > request.offset + request.limit else reached
    return await _listed(db, page, sum(by_state[state] for state in states), cursor)


async def list_matching_by_processing_order(
    db: AsyncConnection, request: ListRequest, by_state: Mapping[State, int]
) -> SubmissionList:
    """List by any filter: finds all matches, then sorts them. Raises Invalid if there are too many."""
    search = await search_for(db, request.filters, by_state)
    if not search.candidates.are_few:
        raise too_many_to_sort()
    cycles = await list_cycles(db, search.walk(SubmissionOrder()))
    orders = await find_claim_orders(db, [Job(number, cycle) for number, cycle in cycles])
    line = sorted((order, number) for number, order in orders.items())
    later = [each for each in line if request.after is None or each[0] > request.after]
    page = later[request.offset : request.offset + request.limit]
    cursor = page[-1][0] if len(later) > request.offset + request.limit else None
    return await _listed(db, page, len(line), cursor)


async def _listed(
    db: AsyncConnection, page: list[tuple[ClaimOrder, UUID]], total: int, cursor: ClaimOrder | None
) -> SubmissionList:
    found = await find_submissions(db, [number for _, number in page]) if page else {}
    return SubmissionList([found[number] for _, number in page], total, total_is_exact=True, next=cursor)
