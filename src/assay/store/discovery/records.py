"""What discovery has found: claimed by inserting it, taken to be looked into, and what became of it."""

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

LONGEST_PROBLEM = 500
GIVEN = """
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
        place integer, host text, owner text, name text, full_name text,
        changed_at timestamptz, paths text[], known_only boolean
    )
"""
# A change is news only if it came after the last look; a path only if it was neither promised nor seen before.
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
COUNT_FRESH = text(f"WITH {FRESH} SELECT full_name FROM fresh ORDER BY place")
# Always in the order of the key, so that two that claim the same cannot deadlock. Of two, one inserts; the other waits
# for its commit, finds the row to be found already, and gets nothing.
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
# Of its own source; and what was found by one that nobody runs any more and has waited for a while.
TAKE = text(
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
LOOKED_AT = text(
    """
    UPDATE discovery_record SET
        state = :state, looked_at = :looked_at, commit = coalesce(:commit, commit), skills = :skills, held_by = NULL,
        problem = :problem, attempts = 0,
        paths = ARRAY(SELECT DISTINCT path FROM unnest(paths || CAST(:paths AS text[])) AS path ORDER BY path)
    WHERE host = :host AND owner = :owner AND name = :name
    """
)


@dataclass(frozen=True, slots=True)
class TakenRecord:
    """A repository that is to be looked into."""

    repository: RepositoryName
    attempts: int


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """Where a repository stands that was found, and how many skills it has."""

    state: RecordState
    skills: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look has shown: the paths of all skills, and how many were submitted."""

    state: RecordState
    looked_at: datetime
    commit: str | None = None
    skills: int = 0
    paths: tuple[str, ...] = ()
    problem: str | None = None


async def list_fresh(db: AsyncConnection, candidates: Sequence[Candidate], *, room: int) -> list[str]:
    """Those that are news, up to so many; writes nothing."""
    rows = await db.execute(COUNT_FRESH, {"rows": _rows(candidates), "room": room})
    return list(rows.scalars())


async def claim_fresh(db: AsyncConnection, candidates: Sequence[Candidate], *, source: str, room: int) -> list[str]:
    """Insert those that are news, up to so many. What is returned is ours, and nobody else's."""
    values = {"rows": _rows(candidates), "room": room, "source": source}
    return list((await db.execute(CLAIM, values)).scalars())


async def take_found(
    db: AsyncConnection, run_id: UUID, *, source: str, known: Sequence[str], limit: int, held_seconds: float
) -> list[TakenRecord]:
    """The longest due first, ours until the hold is over; if we die, the next run takes them."""
    values = {"run_id": run_id, "source": source, "known": list(known), "limit": limit, "held_seconds": held_seconds}
    return [TakenRecord(_name_of(host, full), attempts) for host, full, attempts in await db.execute(TAKE, values)]


async def seconds_until_due(db: AsyncConnection, *, source: str) -> float | None:
    """When the next one is due that a source has found and nobody has looked into; None if there is none."""
    seconds = (await db.execute(SECONDS_UNTIL_DUE, {"source": source})).scalar_one()
    return None if seconds is None else max(0.0, float(seconds))


async def release_held(db: AsyncConnection, run_id: UUID, *, source: str) -> None:
    """What a run has taken and will not look into any more is due at once."""
    await db.execute(RELEASE, {"run_id": run_id, "source": source})


async def note_sight(db: AsyncConnection, repository: RepositoryName, sight: Sight) -> None:
    """It was looked into, if the caller's transaction commits."""
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
        "problem": sight.problem[:LONGEST_PROBLEM] if sight.problem else None,
    }
    await db.execute(LOOKED_AT, values)


async def postpone(
    db: AsyncConnection, repository: RepositoryName, problem: str, *, seconds: float, tried: bool
) -> None:
    """It could not be looked into now, which says nothing about it; to be told to wait is no attempt."""
    host, owner, name = repository.key
    row = (discovery_record.c.host == host) & (discovery_record.c.owner == owner) & (discovery_record.c.name == name)
    later = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    values = {"due_at": later, "held_by": None, "problem": problem[:LONGEST_PROBLEM]}
    await db.execute(
        update(discovery_record).where(row).values(**values, attempts=discovery_record.c.attempts + int(tried))
    )


async def read_records(db: AsyncConnection, names: Sequence[RepositoryName]) -> dict[str, RecordFacts]:
    """What stands of these repositories, by `owner/name` in lower case."""
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
    """How many repositories stand where; for tests and benchmarks, since it counts them all."""
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
