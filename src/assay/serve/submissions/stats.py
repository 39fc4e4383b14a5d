"""Counts of submissions and listings, defined once for all pages and APIs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import STATE_GROUPS, State, StateGroup
from assay.store.skills.counts import count_skills
from assay.store.submissions.counts import count_by_state


@dataclass(frozen=True)
class Stats:
    total: int
    by_state: Mapping[State, int]
    by_category: Mapping[StateGroup, int]
    skills: int
    as_of: datetime


async def read_stats(db: AsyncConnection, now: datetime) -> Stats:
    """Read all counts from one snapshot."""
    by_state = await count_by_state(db)
    by_category = {category: sum(by_state[state] for state in states) for category, states in STATE_GROUPS.items()}
    return Stats(sum(by_state.values()), by_state, by_category, await count_skills(db), now)


def total_of(stats: Stats, states: frozenset[State] | None) -> int:
    """Return the number of submissions in these states, or in all."""
    return stats.total if states is None else sum(stats.by_state[state] for state in states)
