"""Submissions in the order of processing: those that are worked on, then those that wait, as workers take them."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.job import Job
from assay.model.submission import ACTIVE, State
from assay.model.submission_list import Order
from assay.serve.submissions.list import Listed, Wanted, search_for, too_many_to_sort
from assay.store.queue.order import Turn, find_turns, list_line
from assay.store.submissions.submissions import find_rounds, find_submissions
from assay.store.submissions.walks import LOOK_AT_MOST, list_rounds

# How many jobs are read at once when the first did not fill the page.
FURTHER = 2_000


def states_in_line(states: frozenset[State] | None) -> frozenset[State]:
    """The states that have an order of processing; all of them unless some are asked for."""
    if states is not None and not states <= ACTIVE:
        message = "sort: only what is under way has an order of processing; use state=RECEIVED or category=active."
        raise Invalid(message, code="bad_sort")
    return ACTIVE if states is None else states


async def list_in_line(db: AsyncConnection, wanted: Wanted, by_state: Mapping[State, int]) -> Listed:
    """By state only: the line itself is walked, past the jobs of submissions that are in other states."""
    states = wanted.filters.states or ACTIVE
    needed = wanted.offset + wanted.limit + 1
    line: list[tuple[Turn, UUID]] = []
    reached, size, looked_at = Turn(*wanted.after) if wanted.after else None, needed, 0
    while len(line) < needed and looked_at < LOOK_AT_MOST:
        jobs = await list_line(db, after=reached, limit=size)
        rounds = await find_rounds(db, [job.subject_id for _, job in jobs], states)
        line += [(turn, job.subject_id) for turn, job in jobs if rounds.get(job.subject_id) == job.cycle]
        looked_at += len(jobs)
        reached = jobs[-1][0] if len(jobs) == size else None
        size = FURTHER
        if reached is None:
            break
    page = line[wanted.offset : wanted.offset + wanted.limit]
    onward = page[-1][0] if page and len(line) > wanted.offset + wanted.limit else reached
    return await _listed(db, page, sum(by_state[state] for state in states), onward)


async def list_matching_in_line(db: AsyncConnection, wanted: Wanted, by_state: Mapping[State, int]) -> Listed:
    """By anything: all that match are found first, and then put in line."""
    search = await search_for(db, wanted.filters, by_state)
    if not search.candidates.are_few:
        raise too_many_to_sort()
    rounds = await list_rounds(db, search.walk(Order()))
    turns = await find_turns(db, [Job(number, cycle) for number, cycle in rounds])
    line = sorted((turn, number) for number, turn in turns.items())
    later = [each for each in line if wanted.after is None or each[0] > wanted.after]
    page = later[wanted.offset : wanted.offset + wanted.limit]
    onward = page[-1][0] if len(later) > wanted.offset + wanted.limit else None
    return await _listed(db, page, len(line), onward)


async def _listed(db: AsyncConnection, page: list[tuple[Turn, UUID]], total: int, onward: Turn | None) -> Listed:
    found = await find_submissions(db, [number for _, number in page]) if page else {}
    return Listed([found[number] for _, number in page], total, total_is_exact=True, next=onward)
