"""Suppressions: findings that do not count until a date."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, and_, any_, insert, literal, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State
from assay.model.suppression import Scope, Suppression
from assay.store.tables import skill, submission, suppression

COLUMNS = (
    suppression.c.id,
    suppression.c.scope,
    suppression.c.rule_id,
    suppression.c.file,
    suppression.c.repository_id,
    suppression.c.skill_path,
    suppression.c.content_digest,
    suppression.c.excerpts,
    suppression.c.until,
    suppression.c.reason,
    suppression.c.added_by,
    suppression.c.created_at,
    suppression.c.ended_at,
    suppression.c.ended_by,
    suppression.c.ended_reason,
)
HOLDS = suppression.c.ended_at.is_(None)


async def add_suppression(db: AsyncConnection, new: Suppression) -> None:
    """Write it down."""
    await db.execute(
        insert(suppression).values(
            id=new.id,
            scope=new.scope.value,
            rule_id=new.rule_id,
            file=new.file,
            repository_id=new.repository_id,
            skill_path=new.skill_path,
            content_digest=new.content_digest,
            excerpts=list(new.excerpts),
            until=new.until,
            reason=new.reason,
            added_by=new.by,
            created_at=new.created_at,
        )
    )


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
    return Suppression(
        id=row.id,
        scope=Scope(row.scope),
        rule_id=row.rule_id,
        file=row.file,
        repository_id=row.repository_id,
        skill_path=row.skill_path,
        content_digest=row.content_digest,
        excerpts=tuple(row.excerpts),
        until=row.until,
        reason=row.reason,
        by=row.added_by,
        created_at=row.created_at,
        ended_at=row.ended_at,
        ended_by=row.ended_by,
        ended_reason=row.ended_reason,
    )
