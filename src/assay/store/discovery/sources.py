"""Where each source of discovery stands: its lease, its checkpoint, when it runs again. The clock is the database's."""

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

# Only one runner has the lease, in whichever process: it changes hands when it is given back or has run out.
TAKE_LEASE = text(
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
KEEP_PAGE = text(
    """
    UPDATE discovery_source SET
        checkpoint = CAST(:checkpoint AS jsonb), found = found + :found, cut = cut + :cut,
        found_at = CASE WHEN :found > 0 THEN now() ELSE found_at END,
        new_at = CASE WHEN :new > 0 THEN now() ELSE new_at END,
        completed_at = CASE WHEN :is_last THEN now() ELSE completed_at END
    WHERE name = :name AND run_id = :run_id
    """
)
SIGHT = text(
    """
    INSERT INTO discovery_sighting (source, owner, name)
    SELECT :source, known.owner, known.name
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (owner text, name text)
    JOIN discovery_known AS known USING (owner, name)
    ORDER BY known.owner, known.name
    ON CONFLICT (source, owner, name) DO UPDATE SET seen_at = now()
    """
)
GIVE_BACK = text(
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
class Rhythm:
    """How often a source runs, within what time it should find something new, and whether a cycle shows everything."""

    name: str
    every_seconds: float
    floor_seconds: float
    shows_all: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a source: where it goes on, and whose run it follows."""

    checkpoint: Mapping[str, Any] | None
    previous_run_id: UUID | None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source and its past. `known_ever` and `known_now` count known answers: ever found, and in this cycle."""

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
    # Whether the cycle that was begun last has come to its end.
    is_through: bool
    # What its service has and showed to nobody: in this cycle, or in the last one as long as this one goes on.
    cut: int
    known_ever: int
    known_now: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of so many known answers so many were found lately; some that were not."""

    known: int = 0
    covered: int = 0
    missing: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of one; all if there is nothing to be found."""
        return self.covered / self.known if self.known else 1.0


@dataclass(frozen=True, slots=True)
class DiscoveryFacts:
    """Discovery at one moment."""

    sources: tuple[SourceRecord, ...] = ()
    coverage: Coverage = Coverage()


async def register_sources(db: AsyncConnection, rhythms: Sequence[Rhythm], *, is_scheduled: bool) -> None:
    """Make sources known; those that are scheduled are missed when they do not run, all others are not."""
    if is_scheduled:
        others = update(discovery_source).where(discovery_source.c.name.not_in([each.name for each in rhythms]))
        await db.execute(others.values(is_scheduled=False))
    if not rhythms:
        return
    rows = [asdict(each) | {"is_scheduled": is_scheduled} for each in rhythms]
    fresh = insert(discovery_source).values(rows)
    kept: dict[str, Any] = {
        column: fresh.excluded[column] for column in ("every_seconds", "floor_seconds", "shows_all")
    }
    if is_scheduled:
        # A source that comes back is not late for the time in which nobody wanted it.
        since = case((discovery_source.c.is_scheduled, discovery_source.c.known_since), else_=func.now())
        kept |= {"is_scheduled": True, "known_since": since}
    await db.execute(fresh.on_conflict_do_update(index_elements=[discovery_source.c.name], set_=kept))


async def register_known(db: AsyncConnection, names: Sequence[tuple[str, str]]) -> None:
    """The repositories that discovery must be able to find, `(owner, name)` in lower case."""
    wanted = sorted(set(names))
    rows = json_text([{"owner": owner, "name": name} for owner, name in wanted])
    given = "SELECT owner, name FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (owner text, name text)"
    await db.execute(text(f"DELETE FROM discovery_known WHERE (owner, name) NOT IN ({given})"), {"rows": rows})
    await db.execute(text(f"INSERT INTO discovery_known (owner, name) {given} ON CONFLICT DO NOTHING"), {"rows": rows})


async def take_lease(
    db: AsyncConnection, name: str, run_id: UUID, *, lease_seconds: float, is_asked_for: bool
) -> Lease | None:
    """None if somebody else runs it, or if it is not due and nobody has asked for it."""
    values = {"name": name, "run_id": run_id, "lease_seconds": lease_seconds, "is_asked_for": is_asked_for}
    row = (await db.execute(TAKE_LEASE, values)).one_or_none()
    return Lease(*row) if row else None


async def renew_lease(db: AsyncConnection, name: str, run_id: UUID, *, lease_seconds: float) -> bool:
    """Whether it is still ours."""
    values = {"name": name, "run_id": run_id, "lease_seconds": lease_seconds}
    return bool((await db.execute(RENEW, values)).rowcount)


async def keep_page(
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
    """Move the checkpoint behind what this transaction keeps; False if the source is not ours any more."""
    values = {"name": name, "run_id": run_id, "found": found, "new": new, "cut": cut, "is_last": is_last}
    kept = await db.execute(KEEP_PAGE, values | {"checkpoint": json_text(checkpoint) if checkpoint else None})
    return bool(kept.rowcount)


async def note_sightings(db: AsyncConnection, name: str, candidates: Sequence[Candidate]) -> None:
    """Known answers among what a source has found."""
    rows = {each.repository.key[1:] for each in candidates}
    values = {"source": name, "rows": json_text([{"owner": owner, "name": repository} for owner, repository in rows])}
    await db.execute(SIGHT, values)


async def note_probe(db: AsyncConnection, name: str, *, sees: bool) -> None:
    """What became of a question with a known answer."""
    statement = update(discovery_source).where(discovery_source.c.name == name)
    await db.execute(statement.values(sees=sees, probed_at=func.now()))


async def give_back(
    db: AsyncConnection,
    name: str,
    run_id: UUID,
    *,
    outcome: RunOutcome,
    found: int,
    again_seconds: float,
    problem: str | None,
) -> None:
    """The run is over; somebody else may run the source then."""
    # Whoever was told to wait has not looked, so it says nothing about the source that nothing was found.
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
    await db.execute(GIVE_BACK, values)


async def failures_of(db: AsyncConnection, name: str) -> int:
    """How often a source has failed in a row."""
    found = await db.execute(select(discovery_source.c.failures).where(discovery_source.c.name == name))
    return int(found.scalar_one())


async def seconds_until_run(db: AsyncConnection, name: str) -> float:
    """How long until a source is due and free; zero or less if it is."""
    due = func.greatest(discovery_source.c.next_run_at, discovery_source.c.lease_until)
    left = select(func.extract("epoch", due - func.now())).where(discovery_source.c.name == name)
    return float((await db.execute(left)).scalar_one())


async def list_sources(db: AsyncConnection) -> list[SourceRecord]:
    """All sources, by name."""
    return [SourceRecord(*row) for row in await db.execute(SOURCES)]


async def read_discovery(db: AsyncConnection) -> DiscoveryFacts:
    """Two statements, whatever was found: there are few sources, and few known answers."""
    return DiscoveryFacts(tuple(await list_sources(db)), await read_coverage(db))


async def read_coverage(db: AsyncConnection) -> Coverage:
    """How many of the known answers were found in the last week, by any source."""
    known, covered, missing = (await db.execute(COVERAGE, {"days": COVERED_DAYS})).one()
    return Coverage(known, covered, tuple(missing or ()))
