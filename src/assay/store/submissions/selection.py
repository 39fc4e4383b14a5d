"""Submissions that an admin means, by id or by what they have in common; locked before they are changed."""

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
    """All in one of these states that have not changed since `before`, narrowed by what is given besides."""

    states: frozenset[State]
    before: datetime
    reason: str | None = None
    origin: Origin | None = None
    repository_id: int | None = None


async def lock_by_ids(db: AsyncConnection, ids: Sequence[UUID]) -> dict[UUID, Submission]:
    """Those that exist, locked until the end of the transaction, in the order of their ids."""
    statement = read_submissions().where(submission.c.id.in_(ids)).order_by(submission.c.id)
    rows = await db.execute(statement.with_for_update(of=submission, key_share=True))
    return {each.id: each for each in map(submission_of, rows)}


async def lock_selected(db: AsyncConnection, selection: Selection, limit: int) -> list[Submission]:
    """The longest unchanged first; what somebody else is changing right now is left for the next time."""
    statement = read_submissions().where(*_conditions(selection)).order_by(submission.c.updated_at, submission.c.id)
    rows = await db.execute(statement.limit(limit).with_for_update(of=submission, key_share=True, skip_locked=True))
    return [submission_of(row) for row in rows]


async def count_selected(db: AsyncConnection, selection: Selection) -> Mapping[State, int]:
    """How many by state, up to COUNT_AT_MOST in all."""
    some = select(submission.c.state).where(*_conditions(selection)).limit(COUNT_AT_MOST).subquery()
    rows = await db.execute(select(some.c.state, func.count()).group_by(some.c.state))
    return {State(state): number for state, number in rows}


async def set_priority(db: AsyncConnection, ids: Sequence[UUID], priority: int) -> None:
    """The rows must be locked. No change of state, and nothing that a worker checks."""
    await db.execute(update(submission).where(submission.c.id.in_(ids)).values(priority=priority))


async def now_of(db: AsyncConnection) -> datetime:
    """The database's time, which is the time of every row."""
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
