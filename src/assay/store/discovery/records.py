"""Repositories that discovery found: claimed by inserting them, then inspected."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.discovery import Candidate, RecordState
from assay.model.repository import Host, RepositoryName
from assay.store.database.records import json_text
from assay.store.tables import discovery_record

MAX_ERROR_LENGTH = 500
GIVEN = """
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
        place integer, host text, owner text, name text, full_name text,
        changed_at timestamptz, paths text[], known_only boolean
    )
"""
# A change counts only if it is later than the last inspection, a path only if it is not known yet.
IS_NEWS = """
    record.state <> 'found' AND (
        (record.looked_at IS NULL OR given.changed_at > record.looked_at) AND given.changed_at IS NOT NULL
        OR NOT given.paths <@ record.paths
    )
"""
FRESH = f"""
    given AS ({GIVEN}),
    fresh AS (
        SELECT given.* FROM given LEFT JOIN discovery_record AS record USING (host, owner, name)
        WHERE CASE WHEN record.host IS NULL THEN NOT given.known_only ELSE {IS_NEWS} END
        ORDER BY place LIMIT :room
    )
"""
LIST_FRESH = text(f"WITH {FRESH} SELECT full_name FROM fresh ORDER BY place")
# In the order of the key, so that concurrent claims do not deadlock. The second of two waits for the first to commit,
# finds the row claimed already, and gets nothing.
CLAIM = text(
    f"""
    WITH {FRESH}
    INSERT INTO discovery_record AS record (host, owner, name, full_name, source, paths, changed_at)
    SELECT host, owner, name, full_name, :source, paths, changed_at FROM fresh ORDER BY host, owner, name
    ON CONFLICT (host, owner, name) DO UPDATE SET
        state = 'found', source = excluded.source, full_name = excluded.full_name, due_at = now(), attempts = 0,
        held_by = NULL, problem = NULL, changed_at = greatest(record.changed_at, excluded.changed_at),
        paths = ARRAY(SELECT DISTINCT path FROM unnest(record.paths || excluded.paths) AS path ORDER BY path)
    WHERE {IS_NEWS.replace("given.", "excluded.")}
    RETURNING full_name
    """
)
# Records of the source itself, and those of sources that no longer run and have waited for 10 minutes.
CLAIM_DUE = text(
    """
    UPDATE discovery_record AS record
    SET held_by = :run_id, due_at = now() + make_interval(secs => :held_seconds)
    FROM (
        SELECT host, owner, name FROM discovery_record
        WHERE state = 'found' AND due_at <= now()
            AND (source = :source OR source <> ALL(:known) AND due_at <= now() - interval '10 minutes')
        ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE record.host = due.host AND record.owner = due.owner AND record.name = due.name
    RETURNING record.host, record.full_name, record.attempts
    """
)
SECONDS_UNTIL_DUE = text(
    """
    SELECT extract(epoch FROM min(due_at) - now()) FROM discovery_record
    WHERE state = 'found' AND source = :source
    """
)
RELEASE = text(
    """
    UPDATE discovery_record SET held_by = NULL, due_at = now()
    WHERE state = 'found' AND source = :source AND held_by = :run_id
    """
)
RECORD_INSPECTION = text(
    """
    UPDATE discovery_record SET
        state = :state, looked_at = :looked_at, commit = coalesce(:commit, commit), skills = :skills, held_by = NULL,
        problem = :problem, attempts = 0,
        paths = ARRAY(SELECT DISTINCT path FROM unnest(paths || CAST(:paths AS text[])) AS path ORDER BY path)
    WHERE host = :host AND owner = :owner AND name = :name
    """
)


@dataclass(frozen=True, slots=True)
class ClaimedRecord:
    """A repository claimed for inspection."""

    repository: RepositoryName
    attempts: int


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """The state of a repository that was found, and its number of skills."""

    state: RecordState
    skills: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of an inspection: paths of all skills, and how many were submitted."""

    state: RecordState
    looked_at: datetime
    commit: str | None = None
    skills: int = 0
    paths: tuple[str, ...] = ()
    problem: str | None = None


async def list_new_candidates(db: AsyncConnection, candidates: Sequence[Candidate], *, room: int) -> list[str]:
    """Return candidates that are new or changed, up to `room`, without writing."""
    rows = await db.execute(LIST_FRESH, {"rows": _rows(candidates), "room": room})
    return list(rows.scalars())


async def claim_new_candidates(
    db: AsyncConnection, candidates: Sequence[Candidate], *, source: str, room: int
) -> list[str]:
    """Claim candidates that are new or changed, up to `room`. No other run can claim those that are returned."""
    values = {"rows": _rows(candidates), "room": room, "source": source}
    return list((await db.execute(CLAIM, values)).scalars())


async def claim_due_records(
    db: AsyncConnection, run_id: UUID, *, source: str, known: Sequence[str], limit: int, held_seconds: float
) -> list[ClaimedRecord]:
    """Claim due records, longest due first, for `held_seconds`. If the run dies, the next one claims them again."""
    values = {"run_id": run_id, "source": source, "known": list(known), "limit": limit, "held_seconds": held_seconds}
    return [
        ClaimedRecord(_name_of(host, full), attempts) for host, full, attempts in await db.execute(CLAIM_DUE, values)
    ]


async def seconds_until_due(db: AsyncConnection, *, source: str) -> float | None:
    """Return the seconds until the next record of a source is due; None if there is none."""
    seconds = (await db.execute(SECONDS_UNTIL_DUE, {"source": source})).scalar_one()
    return None if seconds is None else max(0.0, float(seconds))


async def release_claimed(db: AsyncConnection, run_id: UUID, *, source: str) -> None:
    """Make records that a run claimed but will not inspect due at once."""
    await db.execute(RELEASE, {"run_id": run_id, "source": source})


async def record_inspection(db: AsyncConnection, repository: RepositoryName, sight: Inspection) -> None:
    """Record an inspection in the caller's transaction."""
    host, owner, name = repository.key
    values = {
        "host": host,
        "owner": owner,
        "name": name,
        "state": sight.state.value,
        "looked_at": sight.looked_at,
        "commit": sight.commit,
        "skills": sight.skills,
        "paths": list(sight.paths),
        "problem": sight.problem[:MAX_ERROR_LENGTH] if sight.problem else None,
    }
    await db.execute(RECORD_INSPECTION, values)


async def postpone_record(
    db: AsyncConnection, repository: RepositoryName, problem: str, *, seconds: float, tried: bool
) -> None:
    """Record a failure, which says nothing about the repository. A rate limit does not count as an attempt."""
    host, owner, name = repository.key
    row = (discovery_record.c.host == host) & (discovery_record.c.owner == owner) & (discovery_record.c.name == name)
    later = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    values = {"due_at": later, "held_by": None, "problem": problem[:MAX_ERROR_LENGTH]}
    await db.execute(
        update(discovery_record).where(row).values(**values, attempts=discovery_record.c.attempts + int(tried))
    )


async def read_records(db: AsyncConnection, names: Sequence[RepositoryName]) -> dict[str, RecordFacts]:
    """Return the records of these repositories, by `owner/name` in lower case."""
    keys = [each.key for each in names]
    statement = select(
        discovery_record.c.owner + "/" + discovery_record.c.name,
        discovery_record.c.state,
        discovery_record.c.skills,
        discovery_record.c.problem,
    ).where(tuple_(discovery_record.c.host, discovery_record.c.owner, discovery_record.c.name).in_(keys))
    rows = await db.execute(statement)
    return {name: RecordFacts(RecordState(state), skills, problem) for name, state, skills, problem in rows}


async def count_records(db: AsyncConnection) -> dict[RecordState, int]:
    """Count all records by state; slow, for tests and benchmarks."""
    statement = select(discovery_record.c.state, func.count()).group_by(discovery_record.c.state)
    return {RecordState(state): number for state, number in await db.execute(statement)}


def _rows(candidates: Sequence[Candidate]) -> str:
    rows = []
    for place, each in enumerate(candidates):
        host, owner, name = each.repository.key
        rows.append(
            {
                "place": place,
                "host": host,
                "owner": owner,
                "name": name,
                "full_name": str(each.repository),
                "changed_at": each.changed_at,
                "paths": sorted(set(each.paths)),
                "known_only": each.known_only,
            }
        )
    return json_text(rows)


def _name_of(host: str, full_name: str) -> RepositoryName:
    owner, _, name = full_name.partition("/")
    return RepositoryName(Host(host), owner, name)
