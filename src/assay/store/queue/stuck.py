"""Stuck submissions: active for longer than the limit of their state, or with an expired lease.

A page merges one index walk per state and one over expired leases. Jobs and repositories are looked up only for the
rows of the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.model.submission import ACTIVE, State
from assay.store.tables.base import quoted

STATES = sorted(ACTIVE)
AGED = " OR ".join(f"(state = '{state}' AND updated_at < :{state.lower()}_before)" for state in STATES)
WALKS: dict[str, str] = {
    state: f"FROM submission WHERE state = '{state}' AND updated_at < :{state.lower()}_before" for state in STATES
}
# Materialised, because only the index of leases finds these without reading the whole backlog.
EXPIRED = f"""expired AS MATERIALIZED (
    SELECT id, state, updated_at FROM submission WHERE lease_expires_at < :now AND state IN ({quoted(ACTIVE)})
)"""
LEASES = f"FROM expired WHERE NOT ({AGED})"
AFTER = "AND (updated_at, id) > (:after_moment, :after_id)"
IN_ORDER = "ORDER BY updated_at, id LIMIT :at_most"
PAGE = text(
    f"WITH {EXPIRED}, page AS MATERIALIZED (SELECT id FROM ("
    + " UNION ALL ".join(f"(SELECT id, updated_at {each} {AFTER} {IN_ORDER})" for each in [*WALKS.values(), LEASES])
    + f""") AS stuck {IN_ORDER})
    SELECT
        submission.id, submission.state, repository.host, repository.owner, repository.name, submission.skill_name,
        submission.skill_path, submission.updated_at, submission.lease_expires_at, job.execute_after,
        held.id IS NOT NULL AS is_held
    FROM page JOIN submission USING (id) JOIN repository ON repository.id = submission.repository_id
    LEFT JOIN LATERAL (
        SELECT execute_after FROM pgqueuer
        WHERE dedupe_key = submission.id || ':' || submission.cycle AND status IN ('queued', 'picked') LIMIT 1
    ) AS job ON true
    LEFT JOIN LATERAL (
        SELECT pgqueuer.id FROM pgqueuer
        WHERE dedupe_key = submission.id || ':' || submission.cycle AND status = 'failed' LIMIT 1
    ) AS held ON true
    ORDER BY submission.updated_at, submission.id
    """
)
PARTS: dict[str, str] = {
    **WALKS,
    "lease": LEASES,
    "left": f"FROM expired WHERE state = '{State.RECEIVED}' AND ({AGED})",
}
COUNT = text(
    f"WITH {EXPIRED} "
    + " UNION ALL ".join(
        f"SELECT '{name}' AS part, count(*) AS number FROM (SELECT 1 {rows} {IN_ORDER}) AS rows"
        for name, rows in PARTS.items()
    )
)
Thresholds = Mapping[State, timedelta]


@dataclass(frozen=True, slots=True)
class StuckRow:
    """A stuck submission, its lease, and when its job is due. The job may also be held or missing."""

    id: UUID
    state: State
    repository: RepositoryName
    skill_name: str
    skill_path: str
    updated_at: datetime
    lease_expires_at: datetime | None
    job_due_at: datetime | None
    job_is_held: bool


@dataclass(frozen=True, slots=True)
class StuckCount:
    """Submissions stuck by age in each state, and others stuck by an expired lease.

    `left` counts those in RECEIVED that a worker claimed and did not return.
    """

    by_state: Mapping[State, int]
    by_lease: int
    left: int

    @property
    def total(self) -> int:
        return sum(self.by_state.values()) + self.by_lease

    @property
    def at_worker(self) -> int:
        """Submissions that a worker holds or held; the others are only waiting."""
        return self.total - self.by_state[State.RECEIVED] + self.left


async def list_stuck(
    db: AsyncConnection, *, now: datetime, thresholds: Thresholds, after: tuple[datetime, UUID], at_most: int
) -> list[StuckRow]:
    """Return stuck submissions after a cursor, longest in their state first."""
    moment, number = after
    position = {"after_moment": moment, "after_id": number, "at_most": at_most}
    return [_stuck_row(row) for row in await db.execute(PAGE, _moments(now, thresholds) | position)]


async def count_stuck(db: AsyncConnection, *, now: datetime, thresholds: Thresholds, at_most: int) -> StuckCount:
    """Count stuck submissions; each number is counted up to `at_most`."""
    rows = await db.execute(COUNT, _moments(now, thresholds) | {"at_most": at_most})
    numbers = {row.part: row.number for row in rows}
    return StuckCount({state: numbers[state] for state in STATES}, numbers["lease"], numbers["left"])


def _moments(now: datetime, thresholds: Thresholds) -> dict[str, object]:
    return {"now": now, **{f"{state.lower()}_before": now - thresholds[state] for state in STATES}}


def _stuck_row(row: Sequence[Any]) -> StuckRow:
    number, state, host, owner, name, *others = row
    return StuckRow(number, State(state), RepositoryName(Host(host), owner, name), *others)
