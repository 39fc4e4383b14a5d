"""Checks of upstream repositories: when each is due, and its result."""

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

# A claim moves the due time; if the worker dies, the check is due again at that time.
CLAIM = text(
    """
    UPDATE upstream_check SET due_at = now() + make_interval(secs => :held_seconds)
    FROM (
        SELECT repository_id FROM upstream_check WHERE due_at <= now()
        ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ) AS due, repository
    WHERE upstream_check.repository_id = due.repository_id AND repository.id = due.repository_id
    RETURNING repository.id, repository.host, repository.owner, repository.name, repository.host_id,
        repository.commit, repository.owner_id, upstream_check.commit AS looked_at_commit, upstream_check.described_at,
        upstream_check.missing_since, upstream_check.failures
    """
)


# The number of repositories is the planner's estimate; failing ones are counted up to 1000.
FRESHNESS = text(
    """
    SELECT
        (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'upstream_check'::regclass),
        (SELECT min(seen_at) FROM upstream_check),
        (SELECT count(*) FROM (SELECT FROM upstream_check WHERE failures > 0 LIMIT 1000) AS failing)
    """
)


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A repository to be checked, with the result of the last check."""

    repository: Repository
    commit: str | None
    described_at: datetime | None
    missing_since: datetime | None
    failures: int


@dataclass(frozen=True, slots=True)
class Freshness:
    """The numbers of watched and failing repositories, and the time of the least recent check."""

    sources: int
    oldest_seen_at: datetime | None
    failing: int


async def claim_due_checks(db: AsyncConnection, *, limit: int, held_seconds: float) -> list[DueCheck]:
    """Claim checks for `held_seconds`, longest due first."""
    rows = await db.execute(CLAIM, {"limit": limit, "held_seconds": held_seconds})
    return [_due_check(row) for row in rows]


async def record_seen(db: AsyncConnection, repository_id: int, *, again: timedelta, commit: str | None = None) -> None:
    """Record that the host answered. `commit` is given if it described the repository completely."""
    values: dict[str, Any] = {"missing_since": None, "failures": 0, "problem": None, "seen_at": func.now()}
    if commit is not None:
        values |= {"described_at": func.now(), "commit": commit}
    await _record(db, repository_id, again, values)


async def record_missing(db: AsyncConnection, repository_id: int, problem: str, *, again: timedelta) -> datetime:
    """Record that the repository does not exist. Returns since when."""
    since = func.coalesce(upstream_check.c.missing_since, func.now())
    values = {"missing_since": since, "problem": problem, "failures": 0, "seen_at": func.now()}
    await _record(db, repository_id, again, values)
    found = select(upstream_check.c.missing_since).where(upstream_check.c.repository_id == repository_id)
    moment: datetime = (await db.execute(found)).scalar_one()
    return moment


async def record_check_failure(db: AsyncConnection, repository_id: int, problem: str, *, again: timedelta) -> None:
    """Record that the host did not answer, which says nothing about the repository."""
    failures = upstream_check.c.failures + 1
    await _record(db, repository_id, again, {"failures": failures, "problem": problem[:500]})


async def read_freshness(db: AsyncConnection) -> Freshness:
    """Read totals in one statement whose cost does not grow with the number of repositories."""
    return Freshness(*(await db.execute(FRESHNESS)).one())


async def find_last_seen(db: AsyncConnection, skill_id: UUID) -> datetime | None:
    """Return when the repository of a listing was last checked; None for uploads."""
    joined = skill.join(upstream_check, upstream_check.c.repository_id == skill.c.repository_id).join(
        repository, repository.c.id == skill.c.repository_id
    )
    found = select(upstream_check.c.seen_at).select_from(joined)
    found = found.where(skill.c.id == skill_id, repository.c.host != Host.UPLOAD)
    moment: datetime | None = (await db.execute(found)).scalar()
    return moment


async def schedule_check(db: AsyncConnection, repository_id: int, *, with_details: bool = False) -> None:
    """Make a check due at once; `with_details` also asks the host for the repository's current name."""
    statement = update(upstream_check).where(upstream_check.c.repository_id == repository_id)
    await db.execute(statement.values(due_at=func.now(), **({"described_at": None} if with_details else {})))


async def list_outdated(db: AsyncConnection, repository_id: int, commit: str) -> list[UUID]:
    """Return decided submissions of a repository whose listing has a live version of another commit."""
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


async def _record(db: AsyncConnection, repository_id: int, again: timedelta, values: dict[str, Any]) -> None:
    values["due_at"] = func.now() + again
    await db.execute(update(upstream_check).where(upstream_check.c.repository_id == repository_id).values(values))


def _due_check(row: Sequence[Any]) -> DueCheck:
    number, host, owner, name, host_id, commit, owner_id, *rest = row
    return DueCheck(Repository(number, RepositoryName(Host(host), owner, name), host_id, commit, owner_id), *rest)
