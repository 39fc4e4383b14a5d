"""Submissions and jobs written directly into the tables, in any condition."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.ids import new_id
from assay.model.job import ENTRYPOINT, Job
from assay.model.submission import REFUSED, State
from assay.store.database.database import Database

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
INSERT = text(
    """
    INSERT INTO submission (
        id, repository_id, skill_name, skill_path, state, priority, origin, reason_code, reason_message,
        lease_owner, lease_expires_at, created_at, updated_at, received_at
    ) VALUES (
        :id, :repository_id, :skill_name, 'SKILL.md', :state, :priority, 'bulk', :reason, :reason,
        :lease, :lease_expires_at, :updated_at, :updated_at, :received_at
    )
    """
)
FILL = text(
    """
    INSERT INTO submission (
        id, repository_id, skill_name, skill_path, state, origin, reason_code, reason_message,
        created_at, updated_at, received_at
    )
    SELECT gen_random_uuid(), :repository_id, 'skill-' || number, 'SKILL.md',
        CASE number % 2 WHEN 0 THEN 'RECEIVED' ELSE 'REJECTED' END, 'bulk', 'test', 'test', moment, moment, moment
    FROM generate_series(1, 2 * CAST(:number AS int)) AS number,
        LATERAL (SELECT CAST(:now AS timestamptz) - interval '1 day' - number * interval '1 second' AS moment) AS moments
    """
)
FILL_JOBS = text(
    """
    INSERT INTO pgqueuer (priority, status, entrypoint, dedupe_key, payload)
    SELECT 0, 'queued', 'submission', concat_ws(':', id, cycle),
        convert_to(CAST(jsonb_build_object('subject_id', id, 'cycle', cycle) AS text), 'UTF8')
    FROM submission WHERE state = 'RECEIVED' ORDER BY received_at
    """
)
ENQUEUE = text(
    """
    INSERT INTO pgqueuer (priority, status, entrypoint, dedupe_key, payload, execute_after)
    VALUES (:priority, CAST(:status AS pgqueuer_status), :entrypoint, :key, :payload, :execute_after)
    """
)


@dataclass(frozen=True)
class Row:
    """A submission that has been in its state for `age_seconds`, and its job."""

    state: State = State.RECEIVED
    age_seconds: float = 0
    lease_seconds: float | None = None
    job: str | None = "queued"
    due_seconds: float = 0
    waited_seconds: float | None = None
    priority: int = 0
    id: UUID = field(default_factory=new_id)

    def updated_at(self, now: datetime) -> datetime:
        return now - timedelta(seconds=self.age_seconds)

    def lease_expires_at(self, now: datetime) -> datetime | None:
        return None if self.lease_seconds is None else now + timedelta(seconds=self.lease_seconds)


async def add_rows(db: AsyncConnection, rows: Sequence[Row], now: datetime = NOW) -> None:
    """Insert rows and their jobs into one repository."""
    repository_id = await _a_repository(db)
    for number, row in enumerate(rows):
        lease = row.lease_expires_at(now)
        waited = row.age_seconds if row.waited_seconds is None else row.waited_seconds
        values = {
            "id": row.id,
            "repository_id": repository_id,
            "skill_name": f"skill-{number}",
            "state": row.state,
            "priority": row.priority,
            "reason": "test" if row.state in REFUSED else None,
            "lease": "somebody" if lease else None,
            "lease_expires_at": lease,
            "updated_at": row.updated_at(now),
            "received_at": now - timedelta(seconds=waited),
        }
        await db.execute(INSERT, values)
        if row.job is not None:
            await add_job(db, Job(row.id, 1), status=row.job, execute_after=now + timedelta(seconds=row.due_seconds))


async def add_job(
    db: AsyncConnection,
    job: Job,
    *,
    status: str = "queued",
    execute_after: datetime = NOW,
    payload: bytes | None = None,
    key: str | None = None,
) -> None:
    """Insert a valid or damaged job."""
    values = {
        "priority": 0,
        "status": status,
        "entrypoint": ENTRYPOINT,
        "key": key or job.key,
        "payload": job.encode() if payload is None else payload,
        "execute_after": execute_after,
    }
    await db.execute(ENQUEUE, values)


async def fill(store: Database, number: int, now: datetime = NOW) -> None:
    """Insert submissions that have waited for more than a day, and as many finished ones."""
    async with store.begin() as db:
        await db.execute(FILL, {"repository_id": await _a_repository(db), "number": number, "now": now})
        await db.execute(FILL_JOBS)


async def analyse(store: Database) -> None:
    """Update the planner's statistics."""
    async with store.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("VACUUM ANALYZE"))


async def rows_read(store: Database) -> int:
    """Return the rows that the pool's only connection has read from submissions and jobs."""
    async with store.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("SELECT pg_stat_force_next_flush()"))
        read = "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables WHERE relname = ANY(:names)"
        return int((await connection.execute(text(read), {"names": ["submission", "pgqueuer"]})).scalar_one())


async def _a_repository(db: AsyncConnection) -> int:
    added = text("INSERT INTO repository (host, owner, name) VALUES ('github', 'acme', :name) RETURNING id")
    return int((await db.execute(added, {"name": f"tools-{new_id()}"})).scalar_one())
