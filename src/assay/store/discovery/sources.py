"""Discovery sources: leases, checkpoints and schedules. All times are those of the database."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.discovery import Candidate, RunOutcome
from assay.store.database.records import json_text
from assay.store.tables import discovery_source

# One runner at a time holds the lease, across all processes. It is free once released or expired.
ACQUIRE_LEASE = text(
    """
    WITH before AS (
        SELECT name, run_id FROM discovery_source
        WHERE name = :name AND (lease_until IS NULL OR lease_until <= now())
            AND (:is_asked_for OR next_run_at <= now())
        FOR UPDATE
    )
    UPDATE discovery_source AS source SET
        run_id = :run_id, lease_until = now() + make_interval(secs => :lease_seconds), started_at = now(),
        cycle_started_at = CASE WHEN source.checkpoint IS NULL OR source.cycle_started_at IS NULL
            OR source.completed_at >= source.cycle_started_at THEN now() ELSE source.cycle_started_at END,
        cut = CASE WHEN source.completed_at >= source.cycle_started_at THEN 0 ELSE source.cut END,
        cut_before = CASE WHEN source.completed_at >= source.cycle_started_at THEN source.cut
            ELSE source.cut_before END
    FROM before WHERE source.name = before.name
    RETURNING source.checkpoint, before.run_id
    """
)
RENEW = text(
    """
    UPDATE discovery_source SET lease_until = now() + make_interval(secs => :lease_seconds)
    WHERE name = :name AND run_id = :run_id AND lease_until IS NOT NULL
    """
)
SAVE_PAGE = text(
    """
    UPDATE discovery_source SET
        checkpoint = CAST(:checkpoint AS jsonb), found = found + :found, cut = cut + :cut,
        found_at = CASE WHEN :found > 0 THEN now() ELSE found_at END,
        new_at = CASE WHEN :new > 0 THEN now() ELSE new_at END,
        completed_at = CASE WHEN :is_last THEN now() ELSE completed_at END
    WHERE name = :name AND run_id = :run_id
    """
)
RECORD_SIGHTINGS = text(
    """
    INSERT INTO discovery_sighting (source, owner, name)
    SELECT :source, known.owner, known.name
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (owner text, name text)
    JOIN discovery_known AS known USING (owner, name)
    ORDER BY known.owner, known.name
    ON CONFLICT (source, owner, name) DO UPDATE SET seen_at = now()
    """
)
RELEASE = text(
    """
    UPDATE discovery_source SET
        lease_until = NULL, finished_at = now(), runs = runs + 1,
        next_run_at = now() + make_interval(secs => :again_seconds),
        flat_runs = CASE WHEN :found > 0 THEN 0 ELSE flat_runs + :is_flat END,
        failures = CASE WHEN :is_failure THEN failures + 1 ELSE 0 END, problem = :problem
    WHERE name = :name AND run_id = :run_id
    """
)
SOURCES = text(
    """
    SELECT source.name, source.every_seconds, source.floor_seconds, source.is_scheduled, source.known_since,
        source.completed_at, source.lease_until, source.next_run_at, source.started_at, source.finished_at,
        source.runs, source.flat_runs, source.failures, source.problem, source.found, source.found_at, source.new_at,
        source.sees, source.probed_at, source.shows_all,
        coalesce(source.completed_at >= source.cycle_started_at, false) AS is_through,
        CASE WHEN source.completed_at >= source.cycle_started_at THEN source.cut
            ELSE greatest(source.cut, source.cut_before) END AS cut,
        count(sighting.source) AS known_ever,
        count(sighting.source) FILTER (WHERE sighting.seen_at >= source.cycle_started_at) AS known_now
    FROM discovery_source AS source
    LEFT JOIN discovery_sighting AS sighting ON sighting.source = source.name
    GROUP BY source.name ORDER BY source.name
    """
)
COVERAGE = text(
    """
    SELECT count(*), count(*) FILTER (WHERE is_seen),
        (array_agg(owner || '/' || name ORDER BY owner, name) FILTER (WHERE NOT is_seen))[1:10]
    FROM (
        SELECT owner, name, EXISTS (
            SELECT FROM discovery_sighting AS sighting
            WHERE sighting.owner = known.owner AND sighting.name = known.name
                AND sighting.seen_at > now() - make_interval(days => :days)
        ) AS is_seen
        FROM discovery_known AS known
    ) AS answers
    """
)
COVERED_DAYS = 7


@dataclass(frozen=True, slots=True)
class SourceSchedule:
    """The interval of a source, the time in which it should find something new, and whether a cycle is exhaustive."""

    name: str
    every_seconds: float
    floor_seconds: float
    shows_all: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a source, with its checkpoint and the id of the previous run."""

    checkpoint: Mapping[str, Any] | None
    previous_run_id: UUID | None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source and its history. `known_ever` and `known_now`: known repositories found ever, and in this cycle."""

    name: str
    every_seconds: float
    floor_seconds: float
    is_scheduled: bool
    known_since: datetime
    completed_at: datetime | None
    lease_until: datetime | None
    next_run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    runs: int
    flat_runs: int
    failures: int
    problem: str | None
    found: int
    found_at: datetime | None
    new_at: datetime | None
    sees: bool | None
    probed_at: datetime | None
    shows_all: bool
    # True if the last cycle is complete.
    is_through: bool
    # Results that the service did not show: in this cycle, or in the last one while this one is running.
    cut: int
    known_ever: int
    known_now: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of known repositories that were found recently, and some that were not."""

    known: int = 0
    covered: int = 0
    missing: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Fraction from 0 to 1; 1 if there are no known repositories."""
        return self.covered / self.known if self.known else 1.0


@dataclass(frozen=True, slots=True)
class DiscoveryFacts:
    sources: tuple[SourceRecord, ...] = ()
    coverage: Coverage = Coverage()


async def register_sources(db: AsyncConnection, schedules: Sequence[SourceSchedule], *, is_scheduled: bool) -> None:
    """Register sources. Alarms are raised only for scheduled sources that do not run."""
    if is_scheduled:
        others = update(discovery_source).where(discovery_source.c.name.not_in([each.name for each in schedules]))
        await db.execute(others.values(is_scheduled=False))
    if not schedules:
        return
    rows = [asdict(each) | {"is_scheduled": is_scheduled} for each in schedules]
    fresh = insert(discovery_source).values(rows)
    updated: dict[str, Any] = {
        column: fresh.excluded[column] for column in ("every_seconds", "floor_seconds", "shows_all")
    }
    if is_scheduled:
        # A source that is scheduled again is not overdue for the time in which it was not.
        since = case((discovery_source.c.is_scheduled, discovery_source.c.known_since), else_=func.now())
        updated |= {"is_scheduled": True, "known_since": since}
    await db.execute(fresh.on_conflict_do_update(index_elements=[discovery_source.c.name], set_=updated))


async def set_known_repositories(db: AsyncConnection, names: Sequence[tuple[str, str]]) -> None:
    """Set the repositories that discovery must be able to find, as `(owner, name)` in lower case."""
    rows = json_text([{"owner": owner, "name": name} for owner, name in sorted(set(names))])
    params = "SELECT owner, name FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (owner text, name text)"
    await db.execute(text(f"DELETE FROM discovery_known WHERE (owner, name) NOT IN ({params})"), {"rows": rows})
    await db.execute(text(f"INSERT INTO discovery_known (owner, name) {params} ON CONFLICT DO NOTHING"), {"rows": rows})


async def acquire_lease(
    db: AsyncConnection, name: str, run_id: UUID, *, lease_seconds: float, is_asked_for: bool
) -> Lease | None:
    """Acquire the lease of a source; None if another process holds it, or if it is neither due nor requested."""
    values = {"name": name, "run_id": run_id, "lease_seconds": lease_seconds, "is_asked_for": is_asked_for}
    row = (await db.execute(ACQUIRE_LEASE, values)).one_or_none()
    return Lease(*row) if row else None


async def renew_lease(db: AsyncConnection, name: str, run_id: UUID, *, lease_seconds: float) -> bool:
    """Extend the lease; False if it was lost."""
    values = {"name": name, "run_id": run_id, "lease_seconds": lease_seconds}
    return bool((await db.execute(RENEW, values)).rowcount)


async def save_page(
    db: AsyncConnection,
    name: str,
    run_id: UUID,
    *,
    checkpoint: Mapping[str, Any] | None,
    found: int,
    new: int,
    cut: int,
    is_last: bool,
) -> bool:
    """Advance the checkpoint in the transaction that stores the page; False if the lease was lost."""
    values = {"name": name, "run_id": run_id, "found": found, "new": new, "cut": cut, "is_last": is_last}
    saved = await db.execute(SAVE_PAGE, values | {"checkpoint": json_text(checkpoint) if checkpoint else None})
    return bool(saved.rowcount)


async def record_sightings(db: AsyncConnection, name: str, candidates: Sequence[Candidate]) -> None:
    """Record which known repositories a source has found."""
    rows = {each.repository.key[1:] for each in candidates}
    values = {"source": name, "rows": json_text([{"owner": owner, "name": repository} for owner, repository in rows])}
    await db.execute(RECORD_SIGHTINGS, values)


async def record_probe_result(db: AsyncConnection, name: str, *, sees: bool) -> None:
    """Record whether the source returned the expected result of a test query."""
    statement = update(discovery_source).where(discovery_source.c.name == name)
    await db.execute(statement.values(sees=sees, probed_at=func.now()))


async def release_source(
    db: AsyncConnection,
    name: str,
    run_id: UUID,
    *,
    outcome: RunOutcome,
    found: int,
    again_seconds: float,
    problem: str | None,
) -> None:
    """Release the lease at the end of a run and schedule the next one."""
    # A run that was rate limited did not search, so finding nothing does not count.
    is_flat = outcome in (RunOutcome.COMPLETE, RunOutcome.CAPPED, RunOutcome.SPENT, RunOutcome.TIMEOUT)
    values = {
        "name": name,
        "run_id": run_id,
        "again_seconds": again_seconds,
        "found": found,
        "is_flat": int(is_flat),
        "is_failure": outcome in (RunOutcome.FAILED, RunOutcome.TIMEOUT),
        "problem": problem,
    }
    await db.execute(RELEASE, values)


async def count_failures(db: AsyncConnection, name: str) -> int:
    """Return the number of consecutive failures."""
    found = await db.execute(select(discovery_source.c.failures).where(discovery_source.c.name == name))
    return int(found.scalar_one())


async def seconds_until_run(db: AsyncConnection, name: str) -> float:
    """Return the seconds until a source is due and its lease is free; zero or less if it is."""
    due = func.greatest(discovery_source.c.next_run_at, discovery_source.c.lease_until)
    left = select(func.extract("epoch", due - func.now())).where(discovery_source.c.name == name)
    return float((await db.execute(left)).scalar_one())


async def list_sources(db: AsyncConnection) -> list[SourceRecord]:
    return [SourceRecord(*row) for row in await db.execute(SOURCES)]


async def read_discovery(db: AsyncConnection) -> DiscoveryFacts:
    """Read sources and coverage in two statements."""
    return DiscoveryFacts(tuple(await list_sources(db)), await read_coverage(db))


async def read_coverage(db: AsyncConnection) -> Coverage:
    """Return how many known repositories any source has found in the last COVERED_DAYS."""
    known, covered, missing = (await db.execute(COVERAGE, {"days": COVERED_DAYS})).one()
    return Coverage(known, covered, tuple(missing or ()))
