"""Where jobs stand in the line: those that are due, in the order of claims, and then those whose time has not come."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT, Job

LOOK_AT_MOST = 10_000

PLACES = text(
    """
    SELECT id, priority, execute_after, execute_after >= now() AS is_later, dedupe_key, EXISTS (
        SELECT FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued' AND execute_after >= now()
    ) AS others_are_later
    FROM pgqueuer WHERE dedupe_key = ANY(:keys) AND status = 'queued'
    """
)
# Of one, in the index alone.
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
# The job behind which nobody counts any more.
LAST_COUNTED = text(
    """
    SELECT priority, id FROM pgqueuer WHERE entrypoint = :entrypoint AND status = 'queued'
    ORDER BY priority DESC, id OFFSET :most - 1 LIMIT 1
    """
)
# All that stand before the furthest, in two walks that end there, counted between one wanted job and the next.
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
# The index alone knows who stands in the line; who of them is due, only the jobs themselves.
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
COMMON: Mapping[str, object] = {"entrypoint": ENTRYPOINT, "most": LOOK_AT_MOST}


@dataclass(frozen=True, slots=True)
class Position:
    """1 is the next to be claimed; if not exact, it is at least that. `due_at` is given if that is later than now."""

    number: int
    is_exact: bool
    due_at: datetime | None = None


FAR = Position(LOOK_AT_MOST + 1, is_exact=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """A waiting job; lower comes first."""

    id: int
    priority: int
    due_at: datetime

    @property
    def turn(self) -> tuple[int, int]:
        return -self.priority, self.id


async def find_positions(db: AsyncConnection, jobs: Sequence[Job]) -> dict[UUID, Position]:
    """Of those that wait: what is running, over or unknown has no position. Looks at a bounded part of the line."""
    if not jobs:
        return {}
    subjects = {job.key: job.subject_id for job in jobs}
    rows = (await db.execute(PLACES, {"keys": list(subjects), "entrypoint": ENTRYPOINT})).all()
    later = [_place(row) for row in rows if row.is_later]
    due = [_place(row) for row in rows if not row.is_later]
    found = await _among_later(db, later) if later else {}
    if due and rows[0].others_are_later:
        found |= await _count(db, due, DUE_IN_LINE)
    elif due:
        found |= await _among_due(db, due)
    return {subjects[row.dedupe_key]: found[row.id] for row in rows}


async def _among_due(db: AsyncConnection, places: Sequence[_Place]) -> dict[int, Position]:
    """Of one, all before it are counted. Of many, those behind the last that is counted need no counting."""
    if len(places) == 1:
        return {places[0].id: await _before_one(db, places[0])}
    last = (await db.execute(LAST_COUNTED, COMMON)).one_or_none()
    near = [place for place in places if last is None or place.turn <= (-last.priority, last.id)]
    far = {place.id: FAR for place in places if place not in near}
    return far | (await _count(db, near, IN_LINE) if near else {})


async def _before_one(db: AsyncConnection, place: _Place) -> Position:
    given = {**COMMON, "priority": place.priority, "id": place.id}
    ahead = int((await db.execute(BEFORE_ONE, given)).scalar_one())
    return Position(ahead + 1, is_exact=True) if ahead < LOOK_AT_MOST else FAR


async def _count(db: AsyncConnection, places: Sequence[_Place], statement: Any) -> dict[int, Position]:
    ids = sorted(place.id for place in places)
    furthest = max(places, key=lambda place: place.turn)
    given = {**COMMON, "ids": ids, "priority": furthest.priority, "id": furthest.id}
    counts = sorted((await db.execute(statement, given)).all(), key=lambda count: (-count.priority, count.bucket))
    end = _end_of(counts, furthest.priority)
    found: dict[int, Position] = {}
    ahead, reached = 0, 0
    for place in sorted(places, key=lambda place: place.turn):
        bucket = bisect_left(ids, place.id)
        while reached < len(counts) and (-counts[reached].priority, counts[reached].bucket) <= (
            -place.priority,
            bucket,
        ):
            ahead, reached = ahead + counts[reached].due, reached + 1
        is_exact = end is None or place.turn <= end
        found[place.id] = Position(ahead + 1, is_exact) if ahead < LOOK_AT_MOST else FAR
    return found


def _end_of(counts: Iterable[Row[Any]], lowest: int) -> tuple[int, int] | None:
    """Where the counting stopped before it came to the furthest; None if it came there."""
    for walk in (
        [each for each in counts if each.priority > lowest],
        [each for each in counts if each.priority == lowest],
    ):
        if sum(each.looked_at for each in walk) >= LOOK_AT_MOST:
            return max((-each.priority, each.last_id) for each in walk)
    return None


async def _among_later(db: AsyncConnection, places: Sequence[_Place]) -> dict[int, Position]:
    """Behind all that are due, by the time at which their own comes."""
    due, looked_at = (await db.execute(ALL_DUE, COMMON)).one()
    rows = await db.execute(LATER, {**COMMON, "ids": [place.id for place in places]})
    numbers = {row.id: row.number for row in rows}
    return {
        place.id: Position(
            due + numbers.get(place.id, LOOK_AT_MOST + 1),
            is_exact=looked_at < LOOK_AT_MOST and place.id in numbers,
            due_at=place.due_at,
        )
        for place in places
    }


def _place(row: Row[Any]) -> _Place:
    return _Place(row.id, row.priority, row.execute_after)
