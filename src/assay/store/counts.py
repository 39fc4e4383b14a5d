"""How many submissions are in each state: folded totals plus the deltas since, at the same cost for any size."""

from collections.abc import Mapping

from sqlalchemy import delete, func, select, union_all
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.store.tables import submission, submission_count, submission_count_delta

FOLD_AT_MOST = 50_000


async def count_by_state(db: AsyncConnection) -> Mapping[State, int]:
    """Every state, also those with none."""
    parts = union_all(
        select(submission_count.c.state, submission_count.c.total.label("number")),
        select(submission_count_delta.c.state, submission_count_delta.c.delta),
    ).subquery()
    statement = select(parts.c.state, func.sum(parts.c.number)).group_by(parts.c.state)
    counted = {State(state): int(number) for state, number in await db.execute(statement)}
    return {state: counted.get(state, 0) for state in State}


async def fold_counts(db: AsyncConnection) -> int:
    """Add deltas to the totals; readers see the same sums before and after. Returns how many were folded."""
    oldest = select(submission_count_delta.c.id).order_by(submission_count_delta.c.id).limit(FOLD_AT_MOST)
    taken = (
        delete(submission_count_delta)
        .where(submission_count_delta.c.id.in_(oldest))
        .returning(submission_count_delta.c.state, submission_count_delta.c.delta)
        .cte("taken")
    )
    rows = (
        await db.execute(
            select(taken.c.state, func.sum(taken.c.delta), func.count()).group_by(taken.c.state).add_cte(taken)
        )
    ).all()
    if rows:
        statement = upsert(submission_count).values(
            [{"state": state, "total": total} for state, total, _ in sorted(rows)]
        )
        added = {"total": submission_count.c.total + statement.excluded.total}
        await db.execute(statement.on_conflict_do_update(index_elements=["state"], set_=added))
    return sum(number for _, _, number in rows)


async def recount(db: AsyncConnection) -> Mapping[State, int]:
    """The truth the counters must agree with: a full count, for reconciliation only."""
    statement = select(submission.c.state, func.count()).group_by(submission.c.state)
    counted = {State(state): number for state, number in await db.execute(statement)}
    return {state: counted.get(state, 0) for state in State}
