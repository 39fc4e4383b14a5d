"""Processes of the registry and their heartbeats. All times are those of the database."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import process

MAX_LISTED = 100


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process and its heartbeat."""

    id: UUID
    kind: str
    host: str
    pid: int
    version: str
    in_flight: int
    ruleset: str | None


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process as shown to operators."""

    id: UUID
    kind: str
    version: str
    in_flight: int
    started_at: datetime
    seen_at: datetime
    ruleset: str | None = None


async def write_process(db: AsyncConnection, row: ProcessRow) -> None:
    """Write a heartbeat. Inserts the row again if it has expired."""
    values = {"kind": row.kind, "host": row.host, "pid": row.pid, "version": row.version, "ruleset": row.ruleset}
    fresh = insert(process).values(id=row.id, in_flight=row.in_flight, **values)
    seen = {"in_flight": fresh.excluded.in_flight, "seen_at": func.now()}
    await db.execute(fresh.on_conflict_do_update(index_elements=[process.c.id], set_=seen))


async def remove_process(db: AsyncConnection, number: UUID) -> None:
    await db.execute(delete(process).where(process.c.id == number))


async def list_processes(db: AsyncConnection) -> list[SeenProcess]:
    """Return up to MAX_LISTED processes, most recently seen first."""
    columns = (
        process.c.id,
        process.c.kind,
        process.c.version,
        process.c.in_flight,
        process.c.started_at,
        process.c.seen_at,
        process.c.ruleset,
    )
    statement = select(*columns).order_by(process.c.seen_at.desc(), process.c.id).limit(MAX_LISTED)
    return [SeenProcess(*row) for row in await db.execute(statement)]
