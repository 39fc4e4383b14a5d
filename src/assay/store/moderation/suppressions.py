"""Suppressions: findings that do not count until a date."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, and_, any_, insert, literal, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.model.suppression import Scope, Suppression
from assay.store.tables import repository, skill, submission, suppression

# As the value calls them.
COLUMNS = tuple(column.label("by") if column.name == "added_by" else column for column in suppression.c)
HOLDS = suppression.c.ended_at.is_(None)


async def add_suppression(db: AsyncConnection, new: Suppression) -> None:
    """Write it down."""
    values = asdict(new)
    await db.execute(insert(suppression).values(added_by=values.pop("by"), **values))


async def end_suppression(
    db: AsyncConnection, suppression_id: UUID, *, at: datetime, by: str, reason: str
) -> Suppression | None:
    """From now on the finding counts again; None if there is no such suppression, or not any more."""
    ended = update(suppression).where(suppression.c.id == suppression_id, HOLDS)
    row = (await db.execute(ended.values(ended_at=at, ended_by=by, ended_reason=reason).returning(*COLUMNS))).first()
    return suppression_of(row) if row else None


async def lock_overdue(db: AsyncConnection, now: datetime, at_most: int) -> list[UUID]:
    """Those whose time is over, the longest first."""
    statement = select(suppression.c.id).where(HOLDS, suppression.c.until <= now).order_by(suppression.c.until)
    return list((await db.execute(statement.limit(at_most).with_for_update(skip_locked=True))).scalars())


async def list_ending(db: AsyncConnection, before: datetime, at_most: int) -> list[tuple[str, Suppression]]:
    """Those that will end before this time, the first first, each with the repository that it is about."""
    statement = (
        select(repository.c.owner, repository.c.name.label("repository"), *COLUMNS)
        .join_from(suppression, repository, suppression.c.repository_id == repository.c.id)
        .where(HOLDS, suppression.c.until < before)
        .order_by(suppression.c.until)
        .limit(at_most)
    )
    return [(f"{row.owner}/{row.repository}", suppression_of(row)) for row in await db.execute(statement)]


async def list_suppressions(
    db: AsyncConnection, *, holding: bool | None, rule_id: str | None, before: UUID | None, limit: int
) -> list[Suppression]:
    """A page, newest first."""
    statement = select(*COLUMNS).order_by(suppression.c.id.desc()).limit(limit)
    if holding is not None:
        statement = statement.where(HOLDS if holding else ~HOLDS)
    if rule_id is not None:
        statement = statement.where(suppression.c.rule_id == rule_id)
    if before is not None:
        statement = statement.where(suppression.c.id < before)
    return [suppression_of(row) for row in await db.execute(statement)]


async def find_suppressions(
    db: AsyncConnection, digests: Sequence[str], skills: Sequence[tuple[int, str]]
) -> list[Suppression]:
    """Those of these bytes and of these skills (repository and path), oldest first."""
    of_bytes = and_(
        suppression.c.scope == Scope.CONTENT.value,
        suppression.c.content_digest == any_(literal(sorted(set(digests)), ARRAY(Text))),
    )
    of_skills = [
        and_(
            suppression.c.scope == Scope.SKILL.value,
            suppression.c.repository_id == number,
            suppression.c.skill_path == path,
        )
        for number, path in sorted(set(skills))
    ]
    statement = select(*COLUMNS).where(or_(of_bytes, *of_skills)).order_by(suppression.c.id)
    return [suppression_of(row) for row in await db.execute(statement)]


async def suppressions_of_listing(db: AsyncConnection, skill_id: UUID, digest: str) -> list[Suppression]:
    """Those that are about this version of a listing."""
    of_bytes = and_(suppression.c.scope == Scope.CONTENT.value, suppression.c.content_digest == digest)
    folder = select(skill.c.repository_id, skill.c.skill_path).where(skill.c.id == skill_id)
    of_skill = and_(
        suppression.c.scope == Scope.SKILL.value,
        tuple_(suppression.c.repository_id, suppression.c.skill_path).in_(folder),
    )
    statement = select(*COLUMNS).where(or_(of_bytes, of_skill)).order_by(suppression.c.id)
    return [suppression_of(row) for row in await db.execute(statement)]


async def concerned_submissions(
    db: AsyncConnection, meant: Suppression, states: Sequence[State], at_most: int
) -> list[UUID]:
    """The submissions in these states that a suppression is about."""
    statement = select(submission.c.id).where(submission.c.state.in_([state.value for state in states]))
    if meant.scope is Scope.CONTENT:
        statement = statement.where(submission.c.content_digest == meant.content_digest)
    else:
        statement = statement.where(
            submission.c.repository_id == meant.repository_id, submission.c.skill_path == meant.skill_path
        )
    return list((await db.execute(statement.order_by(submission.c.id).limit(at_most))).scalars())


def suppression_of(row: Any) -> Suppression:
    """A row of COLUMNS as a value."""
    fields = {column.key: getattr(row, column.key) for column in COLUMNS}
    return Suppression(**fields | {"scope": Scope(row.scope), "excerpts": tuple(row.excerpts)})
