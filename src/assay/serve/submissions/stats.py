"""The numbers. Each is defined here and nowhere else; every page and every API shows these."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import CATEGORIES, Category, State
from assay.store.submissions.counts import count_by_state, count_skills


@dataclass(frozen=True)
class Stats:
    """How many submissions are in each state and category, and how many skills are listed."""

    total: int
    by_state: Mapping[State, int]
    by_category: Mapping[Category, int]
    skills: int
    as_of: datetime


async def read_stats(db: AsyncConnection, now: datetime) -> Stats:
    """All numbers from one snapshot."""
    by_state = await count_by_state(db)
    by_category = {category: sum(by_state[state] for state in states) for category, states in CATEGORIES.items()}
    return Stats(sum(by_state.values()), by_state, by_category, await count_skills(db), now)


def total_of(stats: Stats, states: frozenset[State] | None) -> int:
    """The number of submissions in these states, or in all."""
    return stats.total if states is None else sum(stats.by_state[state] for state in states)
