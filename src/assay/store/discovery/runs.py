"""Discovery runs and their counters, written in the transactions that they count."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, text, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.discovery import RunCounters, RunOutcome
from assay.store.database.records import json_text
from assay.store.tables import discovery_run, discovery_source

MAX_ERROR_LENGTH = 500
MAX_REPOSITORIES = 200
# Should be the last statement of a transaction, so that concurrent updates of a run hardly wait for each other.
ADD = text(
    """
    UPDATE discovery_run SET
        found = found + :found, new = new + :new, skipped_dedup = skipped_dedup + :skipped_dedup,
        looked = looked + :looked, enqueued = enqueued + :enqueued, existing = existing + :existing,
        errors = errors + :errors,
        repo_stats = CASE WHEN :with_stats AND (SELECT count(*) FROM jsonb_object_keys(repo_stats)) < :most
            THEN repo_stats || CAST(:repo_stats AS jsonb) ELSE repo_stats END
    WHERE id = :id
    """
)
COUNTERS = ("found", "new", "skipped_dedup", "looked", "enqueued", "existing", "errors")


@dataclass(frozen=True, slots=True)
class RunRecord:
    id: UUID
    source: str
    started_by: str
    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome | None
    problem: str | None
    calls: int
    counters: RunCounters


async def start_run(db: AsyncConnection, run_id: UUID, source: str, *, by: str, most: int) -> None:
    """Record the start of a run. An unfinished run of the same source has died, because this one has the lease."""
    unfinished = (discovery_run.c.source == source) & discovery_run.c.finished_at.is_(None)
    died = update(discovery_run).where(unfinished).values(finished_at=func.now(), outcome=RunOutcome.DIED.value)
    await db.execute(died)
    await db.execute(insert(discovery_run).values(id=run_id, source=source, started_by=by, most=most))


async def add_to_counters(db: AsyncConnection, run_id: UUID, counters: RunCounters) -> None:
    values = {column: getattr(counters, column) for column in COUNTERS}
    stats = {
        "with_stats": bool(counters.repo_stats),
        "repo_stats": json_text(counters.repo_stats),
        "most": MAX_REPOSITORIES,
    }
    await db.execute(ADD, {"id": run_id, **values, **stats})


async def end_run(db: AsyncConnection, run_id: UUID, outcome: RunOutcome, *, calls: int, problem: str | None) -> None:
    error = problem[:MAX_ERROR_LENGTH] if problem else None
    values = {"finished_at": func.now(), "outcome": outcome.value, "calls": calls, "problem": error}
    open_run = (discovery_run.c.id == run_id) & discovery_run.c.finished_at.is_(None)
    await db.execute(update(discovery_run).where(open_run).values(values))


async def read_run(db: AsyncConnection, run_id: UUID) -> RunRecord:
    return _record((await db.execute(select(discovery_run).where(discovery_run.c.id == run_id))).mappings().one())


async def last_runs(db: AsyncConnection) -> dict[str, RunRecord]:
    of_source = select(discovery_run).where(discovery_run.c.source == discovery_source.c.name)
    newest = of_source.order_by(discovery_run.c.started_at.desc()).limit(1).lateral()
    rows = await db.execute(select(newest).select_from(discovery_source.join(newest, true())))
    return {row["source"]: _record(row) for row in rows.mappings()}


def _record(row: Mapping[Any, Any]) -> RunRecord:
    values = dict(row)
    counters = RunCounters(**{column: values[column] for column in (*COUNTERS, "repo_stats")})
    fields = ("id", "source", "started_by", "started_at", "finished_at", "problem", "calls")
    outcome = RunOutcome(str(values["outcome"])) if values["outcome"] else None
    return RunRecord(**{name: values[name] for name in fields}, outcome=outcome, counters=counters)
