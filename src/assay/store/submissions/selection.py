"""Submissions selected for an administrative change, by id or by filter, and locked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import Origin, State, Submission
from assay.store.submissions.submissions import read_submissions, submission_of
from assay.store.tables import submission

COUNT_AT_MOST = 100_000


@dataclass(frozen=True)
class Selection:
    """Submissions in one of these states that did not change since `before`, narrowed by the other fields."""

    states: frozenset[State]
    before: datetime
    reason: str | None = None
    origin: Origin | None = None
    repository_id: int | None = None


async def lock_by_ids(db: AsyncConnection, ids: Sequence[UUID]) -> dict[UUID, Submission]:
    """Lock the submissions that exist, in the order of their ids, until the end of the transaction."""
    statement = read_submissions().where(submission.c.id.in_(ids)).order_by(submission.c.id)
    rows = await db.execute(statement.with_for_update(of=submission, key_share=True))
    return {each.id: each for each in map(submission_of, rows)}


async def lock_selected(db: AsyncConnection, selection: Selection, limit: int) -> list[Submission]:
    """Lock selected submissions, longest unchanged first. Skips rows that are locked by others."""
    statement = read_submissions().where(*_conditions(selection)).order_by(submission.c.updated_at, submission.c.id)
    rows = await db.execute(statement.limit(limit).with_for_update(of=submission, key_share=True, skip_locked=True))
    return [submission_of(row) for row in rows]


async def count_selected(db: AsyncConnection, selection: Selection) -> Mapping[State, int]:
    """Count by state, up to COUNT_AT_MOST in total."""
    counted = select(submission.c.state).where(*_conditions(selection)).limit(COUNT_AT_MOST).subquery()
    rows = await db.execute(select(counted.c.state, func.count()).group_by(counted.c.state))
    return {State(state): number for state, number in rows}


async def set_priority(db: AsyncConnection, ids: Sequence[UUID], priority: int) -> None:
    """Set the priority of locked rows. This is no change of state and does not fence workers."""
    await db.execute(update(submission).where(submission.c.id.in_(ids)).values(priority=priority))


async def database_now(db: AsyncConnection) -> datetime:
    """Return the time of the database, which all rows use."""
    moment: datetime = (await db.execute(text("SELECT now()"))).scalar_one()
    return moment


def _conditions(selection: Selection) -> list[ColumnElement[Any]]:
    conditions: list[ColumnElement[Any]] = [
        submission.c.state.in_([state.value for state in sorted(selection.states)]),
        submission.c.updated_at < selection.before,
    ]
    if selection.reason is not None:
        conditions.append(submission.c.reason_code == selection.reason)
    if selection.origin is not None:
        conditions.append(submission.c.origin == selection.origin.value)
    if selection.repository_id is not None:
        conditions.append(submission.c.repository_id == selection.repository_id)
    return conditions
