"""The oldest submissions of the backlog, found by index without reading the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import ACTIVE, State

COLUMNS = "submission.id, submission.state, submission.updated_at, submission.received_at"
OLDEST = text(
    " UNION ALL ".join(
        f"(SELECT {COLUMNS} FROM submission WHERE state = '{state}' ORDER BY updated_at, id LIMIT 1)"
        for state in sorted(ACTIVE)
    )
)
# A retry updates the submission but keeps the job, so the job shows how long it has waited. A submission without a
# job is no longer updated. The oldest is therefore among the first in one of the two orders, unless more callers than
# jobs are looked at have been waiting for their turn.
WAITING = text(
    f"""
    WITH job AS MATERIALIZED (
        SELECT dedupe_key FROM pgqueuer WHERE status = 'queued' ORDER BY id LIMIT 100
    ), first AS (
        (
            SELECT {COLUMNS} FROM submission
            WHERE state = '{State.RECEIVED}' AND (lease_expires_at IS NULL OR lease_expires_at < :now)
            ORDER BY updated_at, id LIMIT 1
        )
        UNION ALL
        (
            SELECT {COLUMNS} FROM job JOIN submission
                ON submission.id = CASE
                    WHEN job.dedupe_key ~ '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}:'
                    THEN CAST(split_part(job.dedupe_key, ':', 1) AS uuid)
                END
            WHERE state = '{State.RECEIVED}' AND job.dedupe_key = submission.id || ':' || submission.cycle
            ORDER BY received_at LIMIT 1
        )
    )
    SELECT * FROM first ORDER BY received_at LIMIT 1
    """
)
DUE_SINCE = text(
    """
    SELECT execute_after FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued'
    ORDER BY execute_after LIMIT 1
    """
)


@dataclass(frozen=True, slots=True)
class OldestSubmission:
    """The submission that has waited longest. `updated_at`: in its state since; `received_at`: in its cycle since."""

    id: UUID
    state: State
    updated_at: datetime
    received_at: datetime


async def find_oldest(db: AsyncConnection) -> Mapping[State, OldestSubmission]:
    """Return the submission that has been in each active state for longest; states without any are left out."""
    return {each.state: each for each in map(_submission, await db.execute(OLDEST))}


async def find_oldest_waiting(db: AsyncConnection, now: datetime) -> OldestSubmission | None:
    """Return the submission that is not being processed and has waited longest since its cycle began."""
    row = (await db.execute(WAITING, {"now": now})).one_or_none()
    return _submission(row) if row else None


async def find_due_since(db: AsyncConnection, entrypoint: str) -> datetime | None:
    """Return when the first queued job is or was due, possibly in the future; None if no job is queued."""
    return (await db.execute(DUE_SINCE, {"entrypoint": entrypoint})).scalar_one_or_none()


def _submission(row: Sequence[Any]) -> OldestSubmission:
    number, state, updated_at, received_at = row
    return OldestSubmission(number, State(state), updated_at, received_at)
