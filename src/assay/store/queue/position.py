"""Positions of jobs in the queue: due jobs in the order of claims, then delayed jobs by their due time."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job

MAX_SCANNED = 10_000

QUEUED = text(
    """
    SELECT id, priority, execute_after, execute_after >= now() AS is_later, dedupe_key, EXISTS (
        SELECT FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' AND execute_after >= now()
    ) AS others_are_later
    FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status = 'queued'
    """
)
# For a single job: counted in the index alone.
BEFORE_ONE = text(
    """
    SELECT (
        SELECT count(*) FROM (
            SELECT FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' AND priority > :priority
            LIMIT :most
        ) AS higher
    ) + (
        SELECT count(*) FROM (
            SELECT FROM pgqueuer
            WHERE entrypoint = :entrypoint AND status = 'queued' AND priority = :priority AND id < :id
            LIMIT :most
        ) AS earlier
    )
    """
)
# The last job whose exact position is counted.
LAST_COUNTED = text(
    """
    SELECT priority, id FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued'
    ORDER BY priority DESC, id OFFSET :most - 1 LIMIT 1
    """
)
# Counts all jobs before the furthest requested one in two index walks, in buckets between the requested jobs.
BEFORE = """
    SELECT priority, width_bucket(id, CAST(:ids AS bigint[])) AS bucket, max(id) AS last_id, count(*) AS looked_at,
        count(*) AS due
    FROM (
        (
            SELECT * FROM pgqueuer
            WHERE entrypoint = :entrypoint AND status = 'queued' AND priority > :priority
            ORDER BY priority DESC, id LIMIT :most
        ) UNION ALL (
            SELECT * FROM pgqueuer
            WHERE entrypoint = :entrypoint AND status = 'queued' AND priority = :priority AND id < :id
            ORDER BY id LIMIT :most
        )
    ) AS line
    GROUP BY priority, bucket
    """
# Without delayed jobs the index is enough; otherwise `execute_after` has to be read from the rows.
IN_LINE = text(BEFORE)
DUE_IN_LINE = text(BEFORE.replace("count(*) AS due", "count(*) FILTER (WHERE execute_after < now()) AS due"))
ALL_DUE = text(
    """
    SELECT count(*) FILTER (WHERE execute_after < now()), count(*) FROM (
        SELECT execute_after FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' LIMIT :most
    ) AS line
    """
)
LATER = text(
    """
    SELECT id, number FROM (
        SELECT id, row_number() OVER (ORDER BY execute_after, id) AS number FROM pgqueuer
        WHERE entrypoint = :entrypoint AND status = 'queued' AND execute_after >= now()
        ORDER BY execute_after, id LIMIT :most
    ) AS line WHERE id = ANY(:ids)
    """
)
COMMON: Mapping[str, object] = {"entrypoint": ENTRYPOINT, "most": MAX_SCANNED}


@dataclass(frozen=True, slots=True)
class Position:
    """The position in the order of claims, starting at 1; a lower bound if not exact. `due_at` is set if delayed."""

    number: int
    is_exact: bool
    due_at: datetime | None = None


OUT_OF_RANGE = Position(MAX_SCANNED + 1, is_exact=False)


@dataclass(frozen=True, slots=True)
class _QueuedJob:
    id: int
    priority: int
    due_at: datetime

    @property
    def claim_order(self) -> tuple[int, int]:
        return -self.priority, self.id


async def find_positions(db: AsyncConnection, jobs: Sequence[Job]) -> dict[UUID, Position]:
    """Return the positions of queued jobs by submission; others have none. Scans at most MAX_SCANNED jobs."""
    if not jobs:
        return {}
    subjects = {job.key: job.subject_id for job in jobs}
    rows = (await db.execute(QUEUED, {"keys": list(subjects), "entrypoint": ENTRYPOINT})).all()
    later = [_queued_job(row) for row in rows if row.is_later]
    due = [_queued_job(row) for row in rows if not row.is_later]
    found = await _positions_of_later(db, later) if later else {}
    if due and rows[0].others_are_later:
        found |= await _count_ahead(db, due, DUE_IN_LINE)
    elif due:
        found |= await _positions_of_due(db, due)
    return {subjects[row.dedupe_key]: found[row.id] for row in rows}


async def _positions_of_due(db: AsyncConnection, jobs: Sequence[_QueuedJob]) -> dict[int, Position]:
    """Count the jobs ahead of a single job, or of those that are within the first MAX_SCANNED."""
    if len(jobs) == 1:
        return {jobs[0].id: await _position_of_one(db, jobs[0])}
    last = (await db.execute(LAST_COUNTED, COMMON)).one_or_none()
    near = [job for job in jobs if last is None or job.claim_order <= (-last.priority, last.id)]
    far = {job.id: OUT_OF_RANGE for job in jobs if job not in near}
    return far | (await _count_ahead(db, near, IN_LINE) if near else {})


async def _position_of_one(db: AsyncConnection, job: _QueuedJob) -> Position:
    params = {**COMMON, "priority": job.priority, "id": job.id}
    ahead = int((await db.execute(BEFORE_ONE, params)).scalar_one())
    return Position(ahead + 1, is_exact=True) if ahead < MAX_SCANNED else OUT_OF_RANGE


async def _count_ahead(db: AsyncConnection, jobs: Sequence[_QueuedJob], statement: Any) -> dict[int, Position]:
    ids = sorted(job.id for job in jobs)
    furthest = max(jobs, key=lambda job: job.claim_order)
    params = {**COMMON, "ids": ids, "priority": furthest.priority, "id": furthest.id}
    counts = sorted((await db.execute(statement, params)).all(), key=lambda count: (-count.priority, count.bucket))
    end = _scan_end(counts, furthest.priority)
    found: dict[int, Position] = {}
    ahead, next_count = 0, 0
    for job in sorted(jobs, key=lambda job: job.claim_order):
        bucket = bisect_left(ids, job.id)
        while next_count < len(counts) and (-counts[next_count].priority, counts[next_count].bucket) <= (
            -job.priority,
            bucket,
        ):
            ahead, next_count = ahead + counts[next_count].due, next_count + 1
        is_exact = end is None or job.claim_order <= end
        found[job.id] = Position(ahead + 1, is_exact) if ahead < MAX_SCANNED else OUT_OF_RANGE
    return found


def _scan_end(counts: Iterable[Row[Any]], lowest: int) -> tuple[int, int] | None:
    """Return where counting stopped before the furthest job; None if it was reached."""
    for walk in (
        [each for each in counts if each.priority > lowest],
        [each for each in counts if each.priority == lowest],
    ):
        if sum(each.looked_at for each in walk) >= MAX_SCANNED:
            return max((-each.priority, each.last_id) for each in walk)
    return None


async def _positions_of_later(db: AsyncConnection, jobs: Sequence[_QueuedJob]) -> dict[int, Position]:
    """Place delayed jobs behind all due ones, by due time."""
    due, scanned = (await db.execute(ALL_DUE, COMMON)).one()
    rows = await db.execute(LATER, {**COMMON, "ids": [job.id for job in jobs]})
    numbers = {row.id: row.number for row in rows}
    return {
        job.id: Position(
            due + numbers.get(job.id, MAX_SCANNED + 1),
            is_exact=scanned < MAX_SCANNED and job.id in numbers,
            due_at=job.due_at,
        )
        for job in jobs
    }


def _queued_job(row: Row[Any]) -> _QueuedJob:
    return _QueuedJob(row.id, row.priority, row.execute_after)
