"""What waits and what is being worked on: the oldest of each, found without looking at the others."""

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
# A submission that is tried again and again is touched each time; its job is as old as its wait. One whose job is
# missing is not touched any more. So the oldest is among the first of either order.
WAITING = text(
    f"""
    WITH job AS MATERIALIZED (
        SELECT dedupe_key FROM pgqueuer WHERE status = 'queued' ORDER BY id LIMIT 20
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
WAS_PAUSED = text("SELECT EXISTS (SELECT FROM queue_pause WHERE coalesce(resumed_at, expires_at) > :since)")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a submission stands: since when in its state, and since when in its round."""

    id: UUID
    state: State
    updated_at: datetime
    received_at: datetime


async def find_oldest(db: AsyncConnection) -> Mapping[State, Standing]:
    """For each active state that has any, the submission that has been in it longest."""
    return {each.state: each for each in map(_standing, await db.execute(OLDEST))}


async def find_oldest_waiting(db: AsyncConnection, now: datetime) -> Standing | None:
    """The submission that nobody works on and that has waited longest since its round began."""
    row = (await db.execute(WAITING, {"now": now})).one_or_none()
    return _standing(row) if row else None


async def find_due_since(db: AsyncConnection, entrypoint: str) -> datetime | None:
    """Since when some job could have been taken; it may be in the future. None if no job waits."""
    return (await db.execute(DUE_SINCE, {"entrypoint": entrypoint})).scalar_one_or_none()


async def was_paused(db: AsyncConnection, since: datetime) -> bool:
    """Whether the queue was paused at any time since then."""
    return bool((await db.execute(WAS_PAUSED, {"since": since})).scalar_one())


def _standing(row: Sequence[Any]) -> Standing:
    number, state, updated_at, received_at = row
    return Standing(number, State(state), updated_at, received_at)
