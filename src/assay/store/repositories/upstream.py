"""When the source of each listing was last looked at, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, Repository, RepositoryName
from assay.model.submission import REOPENED_BY_RESUBMISSION
from assay.store.tables import repository, skill, skill_version, submission, upstream_check

# Whoever takes some leaves the others to others; if he dies, they are due again when his time is over.
TAKE = text(
    """
    UPDATE upstream_check SET due_at = now() + make_interval(secs => :held_seconds)
    FROM (
        SELECT repository_id FROM upstream_check WHERE due_at <= now()
        ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS due, repository
    WHERE upstream_check.repository_id = due.repository_id AND repository.id = due.repository_id
    RETURNING repository.id, repository.host, repository.owner, repository.name, repository.host_id,
        repository.commit, upstream_check.commit AS looked_at_commit, upstream_check.described_at,
        upstream_check.missing_since, upstream_check.failures
    """
)


# How much is watched is the planner's estimate, which is near enough; who fails is counted up to a thousand.
FRESHNESS = text(
    """
    SELECT
        (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'upstream_check'::regclass),
        (SELECT min(seen_at) FROM upstream_check),
        (SELECT count(*) FROM (SELECT FROM upstream_check WHERE failures > 0 LIMIT 1000) AS failing)
    """
)


@dataclass(frozen=True, slots=True)
class Due:
    """A repository that is to be looked at."""

    repository: Repository
    commit: str | None
    described_at: datetime | None
    missing_since: datetime | None
    failures: int


@dataclass(frozen=True, slots=True)
class Freshness:
    """How many sources are watched, and since when the one that waited longest was not seen."""

    sources: int
    oldest_seen_at: datetime | None
    failing: int


async def take_due(db: AsyncConnection, *, limit: int, held_seconds: float) -> list[Due]:
    """The longest due first."""
    rows = await db.execute(TAKE, {"limit": limit, "held_seconds": held_seconds})
    return [_due(row) for row in rows]


async def note_seen(db: AsyncConnection, repository_id: int, *, again: timedelta, commit: str | None = None) -> None:
    """Its host has answered: the next look is one interval away. With a commit, it has said all of what it is."""
    values: dict[str, Any] = {"missing_since": None, "failures": 0, "problem": None, "seen_at": func.now()}
    if commit is not None:
        values |= {"described_at": func.now(), "commit": commit}
    await _note(db, repository_id, again, values)


async def note_missing(db: AsyncConnection, repository_id: int, problem: str, *, again: timedelta) -> datetime:
    """Its host says that there is no such repository. Returns since when."""
    since = func.coalesce(upstream_check.c.missing_since, func.now())
    values = {"missing_since": since, "problem": problem, "failures": 0, "seen_at": func.now()}
    await _note(db, repository_id, again, values)
    found = select(upstream_check.c.missing_since).where(upstream_check.c.repository_id == repository_id)
    moment: datetime = (await db.execute(found)).scalar_one()
    return moment


async def note_failure(db: AsyncConnection, repository_id: int, problem: str, *, again: timedelta) -> None:
    """Its host did not answer, which says nothing about it."""
    failures = upstream_check.c.failures + 1
    await _note(db, repository_id, again, {"failures": failures, "problem": problem[:500]})


async def read_freshness(db: AsyncConnection) -> Freshness:
    """In one statement that costs the same at any size."""
    return Freshness(*(await db.execute(FRESHNESS)).one())


async def when_seen(db: AsyncConnection, skill_id: UUID) -> datetime | None:
    """When the source of a listing was last looked at; None for what was uploaded."""
    joined = skill.join(upstream_check, upstream_check.c.repository_id == skill.c.repository_id).join(
        repository, repository.c.id == skill.c.repository_id
    )
    found = select(upstream_check.c.seen_at).select_from(joined)
    found = found.where(skill.c.id == skill_id, repository.c.host != Host.UPLOAD)
    moment: datetime | None = (await db.execute(found)).scalar()
    return moment


async def make_due(db: AsyncConnection, repository_id: int, *, anew: bool = False) -> None:
    """Look at it as soon as possible; `anew`: ask also what it is called and whether it is there."""
    statement = update(upstream_check).where(upstream_check.c.repository_id == repository_id)
    await db.execute(statement.values(due_at=func.now(), **({"described_at": None} if anew else {})))


async def list_outdated(db: AsyncConnection, repository_id: int, commit: str) -> list[UUID]:
    """The submissions of listings of a repository that are decided and whose live version is of another commit."""
    states = [state.value for state in REOPENED_BY_RESUBMISSION]
    joined = submission.join(skill, submission.c.skill_id == skill.c.id).join(
        skill_version, skill.c.current_version_id == skill_version.c.id
    )
    statement = (
        select(submission.c.id)
        .select_from(joined)
        .where(
            submission.c.repository_id == repository_id,
            submission.c.upload_digest.is_(None),
            submission.c.state.in_(states),
            skill_version.c.commit != commit,
        )
    )
    return list((await db.execute(statement.order_by(submission.c.id))).scalars())


async def _note(db: AsyncConnection, repository_id: int, again: timedelta, values: dict[str, Any]) -> None:
    values["due_at"] = func.now() + again
    await db.execute(update(upstream_check).where(upstream_check.c.repository_id == repository_id).values(values))


def _due(row: Sequence[Any]) -> Due:
    number, host, owner, name, host_id, commit, *rest = row
    return Due(Repository(number, RepositoryName(Host(host), owner, name), host_id, commit), *rest)
