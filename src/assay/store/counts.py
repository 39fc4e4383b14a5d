"""How many submissions are in each state, and how many came into it lately.

Both are folded totals plus the deltas since, so that they cost the same at any size. A delta above zero is an arrival:
a statement that moves submissions moves all of them into one state.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import func, select, text, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.tables import submission, submission_arrival, submission_count, submission_count_delta

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
FORGET_ARRIVALS = text("DELETE FROM submission_arrival WHERE minute < now() - interval '30 days'")


async def count_by_state(db: AsyncConnection) -> Mapping[State, int]:
    """Every state, also those with none."""
    parts = union_all(
        select(submission_count.c.state, submission_count.c.total.label("number")),
        select(submission_count_delta.c.state, submission_count_delta.c.delta),
    ).subquery()
    statement = select(parts.c.state, func.sum(parts.c.number)).group_by(parts.c.state)
    counted = {State(state): int(number) for state, number in await db.execute(statement)}
    return {state: counted.get(state, 0) for state in State}


async def count_arrivals(db: AsyncConnection, since: datetime) -> Mapping[State, int]:
    """How many submissions have come into each state since then, to the minute."""
    minute = func.date_trunc("minute", since)
    parts = union_all(
        select(submission_arrival.c.state, submission_arrival.c.number).where(submission_arrival.c.minute >= minute),
        select(submission_count_delta.c.state, submission_count_delta.c.delta).where(
            submission_count_delta.c.delta > 0, submission_count_delta.c.created_at >= minute
        ),
    ).subquery()
    statement = select(parts.c.state, func.sum(parts.c.number)).group_by(parts.c.state)
    counted = {State(state): int(number) for state, number in await db.execute(statement)}
    return {state: counted.get(state, 0) for state in State}


async def fold_counts(db: AsyncConnection) -> int:
    """Add deltas to the totals; readers see the same sums before and after. Returns how many were folded."""
    await db.execute(FORGET_ARRIVALS)
    return int((await db.execute(FOLD, {"at_most": FOLD_AT_MOST})).scalar_one())


async def recount(db: AsyncConnection) -> Mapping[State, int]:
    """The truth the counters must agree with: a full count, for reconciliation only."""
    statement = select(submission.c.state, func.count()).group_by(submission.c.state)
    counted = {State(state): number for state, number in await db.execute(statement)}
    return {state: counted.get(state, 0) for state in State}
