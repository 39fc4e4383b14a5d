"""How many submissions are in each state, how many came into it lately, and how many skills are listed.

All are folded totals plus the deltas since, so that they cost the same at any size. A delta above zero is an arrival:
a statement that moves submissions moves all of them into one state.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.tables import submission

FOLD_AT_MOST = 50_000
# One statement, so that no reader sees a delta both folded and not.
FOLD = text(
    """
    WITH taken AS (
        DELETE FROM submission_count_delta
        WHERE id IN (SELECT id FROM submission_count_delta ORDER BY id LIMIT :at_most)
        RETURNING state, delta, created_at
    ), totals AS (
        INSERT INTO submission_count AS kept (state, total)
        SELECT state, sum(delta) FROM taken GROUP BY state ORDER BY state
        ON CONFLICT (state) DO UPDATE SET total = kept.total + excluded.total
    ), arrivals AS (
        INSERT INTO submission_arrival AS kept (minute, state, number)
        SELECT date_trunc('minute', created_at), state, sum(delta)
        FROM taken WHERE delta > 0 GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (minute, state) DO UPDATE SET number = kept.number + excluded.number
    )
    SELECT count(*) FROM taken
    """
)
# The sums stay what they are: many rows become one of each kind.
FOLD_SKILLS = text(
    """
    WITH taken AS (
        DELETE FROM skill_count
        WHERE id IN (SELECT id FROM skill_count ORDER BY id LIMIT :at_most)
            AND (SELECT count(*) FROM (SELECT FROM skill_count LIMIT :enough) AS few) >= :enough
        RETURNING facet, value, number
    )
    INSERT INTO skill_count (facet, value, number)
    SELECT facet, value, sum(number) FROM taken GROUP BY facet, value HAVING sum(number) <> 0
    """
)
# Fewer rows than this are as good as folded.
FOLD_SKILLS_FROM = 64
BY_STATE = text(
    """
    SELECT state, sum(number) FROM (
        SELECT state, total AS number FROM submission_count
        UNION ALL SELECT state, delta FROM submission_count_delta
    ) AS parts GROUP BY state
    """
)
ARRIVED = text(
    """
    SELECT state, sum(number) FROM (
        SELECT state, number FROM submission_arrival WHERE minute >= date_trunc('minute', CAST(:since AS timestamptz))
        UNION ALL
        SELECT state, delta FROM submission_count_delta
        WHERE delta > 0 AND created_at >= date_trunc('minute', CAST(:since AS timestamptz))
    ) AS parts GROUP BY state
    """
)
SKILLS = text("SELECT value, sum(number) FROM skill_count WHERE facet = :facet GROUP BY value")
FACETS = text("SELECT facet, value, sum(number) FROM skill_count GROUP BY facet, value")
FORGET_ARRIVALS = text("DELETE FROM submission_arrival WHERE minute < now() - interval '30 days'")


async def count_by_state(db: AsyncConnection) -> Mapping[State, int]:
    """Every state, also those with none."""
    return _every_state(await db.execute(BY_STATE))


async def count_arrivals(db: AsyncConnection, since: datetime) -> Mapping[State, int]:
    """How many submissions have come into each state since then, to the minute."""
    return _every_state(await db.execute(ARRIVED, {"since": since}))


async def count_skills(db: AsyncConnection) -> int:
    """How many live listings there are."""
    return (await count_by_facet(db, "all")).get("", 0)


async def count_by_facet(db: AsyncConnection, facet: Literal["all", "category", "tier"]) -> Mapping[str, int]:
    """How many live listings there are of each category or tier that has any."""
    rows = await db.execute(SKILLS, {"facet": facet})
    return {value: int(number) for value, number in rows if number}


async def count_facets(db: AsyncConnection) -> Mapping[str, Mapping[str, int]]:
    """All of them at once: facet, value, number."""
    counted: dict[str, dict[str, int]] = {"all": {}, "category": {}, "tier": {}}
    for facet, value, number in await db.execute(FACETS):
        if number:
            counted[facet][value] = int(number)
    return counted


async def fold_counts(db: AsyncConnection) -> int:
    """Add deltas to the totals; readers see the same sums before and after. Returns how many were folded."""
    await db.execute(FORGET_ARRIVALS)
    await db.execute(FOLD_SKILLS, {"at_most": FOLD_AT_MOST, "enough": FOLD_SKILLS_FROM})
    return int((await db.execute(FOLD, {"at_most": FOLD_AT_MOST})).scalar_one())


async def recount(db: AsyncConnection) -> Mapping[State, int]:
    """The truth the counters must agree with: a full count, for reconciliation only."""
    return _every_state(await db.execute(select(submission.c.state, func.count()).group_by(submission.c.state)))


def _every_state(rows: Iterable[Sequence[Any]]) -> Mapping[State, int]:
    counted = {state: int(number) for state, number in rows}
    return {state: counted.get(state.value, 0) for state in State}
