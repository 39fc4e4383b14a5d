"""Pages of stuck submissions, each with the reason."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import RepositoryName
from assay.model.submission import State
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.store.queue.stuck import StuckRow, Thresholds, list_stuck

START = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))
CURSOR_NAME = "stuck"


class StuckReason(StrEnum):
    """The reason why a submission makes no progress."""

    LEASE_EXPIRED = "lease_expired"
    SLOW = "slow"
    WAITING = "waiting"
    DELAYED = "delayed"
    ORPHANED = "orphaned"


@dataclass(frozen=True)
class Stuck:
    """A submission that is in its state for too long, or whose worker is dead."""

    id: UUID
    state: State
    repository: RepositoryName
    skill_name: str
    skill_path: str
    updated_at: datetime
    stuck_for_ms: int
    why: StuckReason


@dataclass(frozen=True)
class StuckPage:
    """Stuck submissions, longest in their state first."""

    stuck: list[Stuck]
    next_cursor: str | None


async def read_stuck(
    db: AsyncConnection, now: datetime, thresholds: Thresholds, cursor: str | None, limit: int
) -> StuckPage:
    after = decode_cursor(cursor, CURSOR_NAME, tuple[datetime, UUID]) if cursor is not None else START
    found = await list_stuck(db, now=now, thresholds=thresholds, after=after, at_most=limit + 1)
    page = found[:limit]
    more = encode_cursor(CURSOR_NAME, (page[-1].updated_at, page[-1].id)) if len(found) > limit else None
    return StuckPage([_stuck(row, now) for row in page], more)


def why_stuck(row: StuckRow, now: datetime) -> StuckReason:
    """Return the reason. A valid lease means that a worker is processing it; without a job it will never be claimed."""
    if row.lease_expires_at is not None and row.lease_expires_at >= now:
        return StuckReason.SLOW
    if row.job_due_at is None and not row.job_is_held:
        return StuckReason.ORPHANED
    if row.lease_expires_at is not None:
        return StuckReason.LEASE_EXPIRED
    # A job held by PgQueuer is requeued soon.
    if row.job_due_at is None or row.job_due_at > now:
        return StuckReason.DELAYED
    return StuckReason.WAITING


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
