"""Jobs in the order in which workers have claimed or will claim them."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job

# Running; due, by priority and id; due later, by time; held after a failure.
RUNNING, DUE, LATER, HELD = range(4)
LOWEST_WEIGHT = -(2**62)
WALKS = {
    RUNNING: text(
        """
        SELECT 0 AS weight, id, dedupe_key FROM pgqueuer
        WHERE status = 'picked' AND entrypoint = :entrypoint AND id > :id
        ORDER BY id LIMIT :most
        """
    ),
    # The rest of one priority, then the lower priorities: no index provides this order from the middle.
    DUE: text(
        """
        (
            SELECT -priority AS weight, id, dedupe_key FROM pgqueuer
            WHERE status = 'queued' AND entrypoint = :entrypoint AND execute_after < now()
                AND priority = -CAST(:weight AS bigint) AND id > :id
            ORDER BY id LIMIT :most
        ) UNION ALL (
            SELECT -priority, id, dedupe_key FROM pgqueuer
            WHERE status = 'queued' AND entrypoint = :entrypoint AND execute_after < now()
                AND priority < -CAST(:weight AS bigint)
            ORDER BY priority DESC, id LIMIT :most
        )
        ORDER BY weight, id LIMIT :most
        """
    ),
    LATER: text(
        """
        SELECT CAST(extract(epoch FROM execute_after) * 1000000 AS bigint) AS weight, id, dedupe_key FROM pgqueuer
        WHERE status = 'queued' AND entrypoint = :entrypoint AND execute_after >= now()
            AND execute_after >= timestamptz 'epoch' + greatest(CAST(:weight AS bigint), 0) * interval '1 microsecond'
            AND (CAST(extract(epoch FROM execute_after) * 1000000 AS bigint), id)
                > (CAST(:weight AS bigint), CAST(:id AS bigint))
        ORDER BY execute_after, id LIMIT :most
        """
    ),
    HELD: text(
        """
        SELECT 0 AS weight, id, dedupe_key FROM pgqueuer
        WHERE status = 'failed' AND entrypoint = :entrypoint AND id > :id
        ORDER BY id LIMIT :most
        """
    ),
}
CLAIM_ORDERS = text(
    """
    SELECT dedupe_key, id,
        CASE WHEN status = 'picked' THEN 0 WHEN status = 'failed' THEN 3
            WHEN execute_after < now() THEN 1 ELSE 2 END AS rank,
        CASE WHEN status <> 'queued' THEN 0 WHEN execute_after < now() THEN -priority
            ELSE CAST(extract(epoch FROM execute_after) * 1000000 AS bigint) END AS weight
    FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status IN ('queued', 'picked', 'failed')
    """
)


class ClaimOrder(NamedTuple):
    """The sort key of a job in the order of claims."""

    rank: int
    weight: int
    id: int


START = ClaimOrder(RUNNING, LOWEST_WEIGHT, -1)


async def list_jobs_in_claim_order(
    db: AsyncConnection, *, after: ClaimOrder | None, limit: int
) -> list[tuple[ClaimOrder, Job]]:
    """Return the next jobs after a key, with one statement for each group that is reached."""
    start = after or START
    found: list[tuple[ClaimOrder, Job]] = []
    for rank in range(start.rank, HELD + 1):
        if len(found) == limit:
            break
        weight, number = start[1:] if rank == start.rank else (LOWEST_WEIGHT, -1)
        params = {"entrypoint": ENTRYPOINT, "weight": weight, "id": number, "most": limit - len(found)}
        rows = await db.execute(WALKS[rank], params)
        found += [(ClaimOrder(rank, row.weight, row.id), _job(row.dedupe_key)) for row in rows]
    return found


async def find_claim_orders(db: AsyncConnection, jobs: Sequence[Job]) -> dict[UUID, ClaimOrder]:
    """Return the sort key of each job by submission; finished jobs are left out."""
    subjects = {job.key: job.subject_id for job in jobs}
    rows = await db.execute(CLAIM_ORDERS, {"keys": list(subjects)})
    return {subjects[row.dedupe_key]: ClaimOrder(row.rank, row.weight, row.id) for row in rows}


def _job(key: str) -> Job:
    subject, _, cycle = key.partition(":")
    return Job(UUID(subject), int(cycle))
