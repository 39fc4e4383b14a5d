"""Counters of submissions by state, and of arrivals in a state.

Each is a folded total plus the deltas since, so the cost does not grow with the number of submissions. A positive
delta is an arrival, because a statement moves all its submissions to one state.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.skills.counts import correct_skill_counts, fold_skill_counts
from assay.store.tables import submission

FOLD_AT_MOST = 50_000
# One statement, so that no reader counts a delta twice or not at all.
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
FORGET_ARRIVALS = text("DELETE FROM submission_arrival WHERE minute < now() - interval '30 days'")


# One statement sees one snapshot, and concurrent moves change the counters along with the rows, so the difference
# stays correct. It is added to the totals, because a positive delta would count as an arrival.
CORRECT = text(
    """
    WITH counted AS (
        SELECT state, sum(number) AS number FROM (
            SELECT state, total AS number FROM submission_count
            UNION ALL
            SELECT state, delta FROM submission_count_delta
        ) AS parts
        GROUP BY state
    ), truth AS (
        SELECT state, count(*) AS number FROM submission GROUP BY state
    ), difference AS (
        SELECT state, coalesce(truth.number, 0) - coalesce(counted.number, 0) AS number
        FROM truth FULL JOIN counted USING (state)
    )
    INSERT INTO submission_count AS kept (state, total)
    SELECT state, number FROM difference WHERE number <> 0 ORDER BY state
    ON CONFLICT (state) DO UPDATE SET total = kept.total + excluded.total
    RETURNING state, (SELECT number FROM difference WHERE difference.state = kept.state) AS added
    """
)


async def count_by_state(db: AsyncConnection) -> Mapping[State, int]:
    """Return the number of submissions in every state, including zeros."""
    return _every_state(await db.execute(BY_STATE))


async def count_arrivals(db: AsyncConnection, since: datetime) -> Mapping[State, int]:
    """Return the number of submissions that entered each state since then, to the minute."""
    return _every_state(await db.execute(ARRIVED, {"since": since}))


async def fold_counts(db: AsyncConnection) -> int:
    """Add deltas to the totals, which does not change the sums. Returns how many deltas were folded."""
    await db.execute(FORGET_ARRIVALS)
    await fold_skill_counts(db)
    return int((await db.execute(FOLD, {"at_most": FOLD_AT_MOST})).scalar_one())


async def count_all_rows(db: AsyncConnection) -> Mapping[State, int]:
    """Count all rows by state; slow, for reconciliation and tests only."""
    return _every_state(await db.execute(select(submission.c.state, func.count()).group_by(submission.c.state)))


def _every_state(rows: Iterable[Sequence[Any]]) -> Mapping[State, int]:
    counted = {state: int(number) for state, number in rows}
    return {state: counted.get(state.value, 0) for state in State}


async def correct_counts(db: AsyncConnection) -> Mapping[str, int]:
    """Recount everything and correct the counters. Returns the correction for each counter that was wrong."""
    added = {row.state: int(row.added) for row in await db.execute(CORRECT)}
    return added | await correct_skill_counts(db)
