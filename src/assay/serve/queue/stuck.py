"""Stuck submissions, page by page, each with the reason why it does not move."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import RepositoryName
from assay.model.submission import State
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.store.queue.stuck import StuckRow, Thresholds, list_stuck

BEGINNING = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))
THIS_LIST = "stuck"


class Why(StrEnum):
    """Why a submission does not move."""

    LEASE_EXPIRED = "lease_expired"
    SLOW = "slow"
    WAITING = "waiting"
    DELAYED = "delayed"
    ORPHANED = "orphaned"


@dataclass(frozen=True)
class Stuck:
    """A submission that has been in its state for too long, or whose worker is gone."""

    id: UUID
    state: State
    repository: RepositoryName
    skill_name: str
    skill_path: str
    updated_at: datetime
    stuck_for_ms: int
    why: Why


@dataclass(frozen=True)
class StuckPage:
    """A page of them, longest in their state first."""

    stuck: list[Stuck]
    next_cursor: str | None


async def read_stuck(
    db: AsyncConnection, now: datetime, thresholds: Thresholds, cursor: str | None, limit: int
) -> StuckPage:
    """One statement a page, however many submissions there are."""
    after = decode_cursor(cursor, THIS_LIST, tuple[datetime, UUID]) if cursor is not None else BEGINNING
    found = await list_stuck(db, now=now, thresholds=thresholds, after=after, at_most=limit + 1)
    page = found[:limit]
    more = encode_cursor(THIS_LIST, (page[-1].updated_at, page[-1].id)) if len(found) > limit else None
    return StuckPage([_stuck(row, now) for row in page], more)


def why_stuck(row: StuckRow, now: datetime) -> Why:
    """A lease that holds means that a worker is at it; without a job, nobody will ever be."""
    if row.lease_expires_at is not None and row.lease_expires_at >= now:
        return Why.SLOW
    if row.job_due_at is None and not row.job_is_held:
        return Why.ORPHANED
    if row.lease_expires_at is not None:
        return Why.LEASE_EXPIRED
    # A job that the queue holds is given back before long.
    if row.job_due_at is None or row.job_due_at > now:
        return Why.DELAYED
    return Why.WAITING


def _stuck(row: StuckRow, now: datetime) -> Stuck:
    age = now - row.updated_at
    return Stuck(
        id=row.id,
        state=row.state,
        repository=row.repository,
        skill_name=row.skill_name,
        skill_path=row.skill_path,
        updated_at=row.updated_at,
        stuck_for_ms=max(0, round(age.total_seconds() * 1000)),
        why=why_stuck(row, now),
    )
