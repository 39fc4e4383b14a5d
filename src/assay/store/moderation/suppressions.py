"""Suppressions: findings excluded until a date."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, and_, any_, insert, literal, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.moderation import Suppression, SuppressionScope
from assay.model.submission import State
from assay.store.tables import repository, skill, submission, suppression

# Labelled like the fields of Suppression.
COLUMNS = tuple(column.label("by") if column.name == "added_by" else column for column in suppression.c)
IS_ACTIVE = suppression.c.ended_at.is_(None)


async def add_suppression(db: AsyncConnection, new: Suppression) -> None:
    values = asdict(new)
    await db.execute(insert(suppression).values(added_by=values.pop("by"), **values))


async def end_suppression(
    db: AsyncConnection, suppression_id: UUID, *, at: datetime, by: str, reason: str
) -> Suppression | None:
    """End a suppression; None if it does not exist or has ended."""
    ended = update(suppression).where(suppression.c.id == suppression_id, IS_ACTIVE)
    row = (await db.execute(ended.values(ended_at=at, ended_by=by, ended_reason=reason).returning(*COLUMNS))).first()
    return suppression_of(row) if row else None


async def lock_expired_suppressions(db: AsyncConnection, now: datetime, at_most: int) -> list[UUID]:
    """Lock expired suppressions, longest expired first. Skips those locked by others."""
    statement = select(suppression.c.id).where(IS_ACTIVE, suppression.c.until <= now).order_by(suppression.c.until)
    return list((await db.execute(statement.limit(at_most).with_for_update(skip_locked=True))).scalars())


async def list_ending(db: AsyncConnection, before: datetime, at_most: int) -> list[tuple[str, Suppression]]:
    """Return suppressions that expire before this time, soonest first, with their repositories."""
    statement = (
        select(repository.c.owner, repository.c.name.label("repository"), *COLUMNS)
        .join_from(suppression, repository, suppression.c.repository_id == repository.c.id)
        .where(IS_ACTIVE, suppression.c.until < before)
        .order_by(suppression.c.until)
        .limit(at_most)
    )
    return [(f"{row.owner}/{row.repository}", suppression_of(row)) for row in await db.execute(statement)]


async def list_suppressions(
    db: AsyncConnection, *, holding: bool | None, rule_id: str | None, before: UUID | None, limit: int
) -> list[Suppression]:
    statement = select(*COLUMNS).order_by(suppression.c.id.desc()).limit(limit)
    if holding is not None:
        statement = statement.where(IS_ACTIVE if holding else ~IS_ACTIVE)
    if rule_id is not None:
        statement = statement.where(suppression.c.rule_id == rule_id)
    if before is not None:
        statement = statement.where(suppression.c.id < before)
    return [suppression_of(row) for row in await db.execute(statement)]


async def find_suppressions(
    db: AsyncConnection, digests: Sequence[str], skills: Sequence[tuple[int, str]]
) -> list[Suppression]:
    """Return the suppressions for these contents and skills (repository id and path), oldest first."""
    of_bytes = and_(
        suppression.c.scope == SuppressionScope.CONTENT.value,
        suppression.c.content_digest == any_(literal(sorted(set(digests)), ARRAY(Text))),
    )
    of_skills = [
        and_(
            suppression.c.scope == SuppressionScope.SKILL.value,
            suppression.c.repository_id == number,
            suppression.c.skill_path == path,
        )
        for number, path in sorted(set(skills))
    ]
    statement = select(*COLUMNS).where(or_(of_bytes, *of_skills)).order_by(suppression.c.id)
    return [suppression_of(row) for row in await db.execute(statement)]


async def suppressions_of_listing(db: AsyncConnection, skill_id: UUID, digest: str) -> list[Suppression]:
    """Return the suppressions that apply to a version of a listing."""
    of_bytes = and_(suppression.c.scope == SuppressionScope.CONTENT.value, suppression.c.content_digest == digest)
    folder = select(skill.c.repository_id, skill.c.skill_path).where(skill.c.id == skill_id)
    of_skill = and_(
        suppression.c.scope == SuppressionScope.SKILL.value,
        tuple_(suppression.c.repository_id, suppression.c.skill_path).in_(folder),
    )
    statement = select(*COLUMNS).where(or_(of_bytes, of_skill)).order_by(suppression.c.id)
    return [suppression_of(row) for row in await db.execute(statement)]


async def list_affected_submissions(
    db: AsyncConnection, active: Suppression, states: Sequence[State], at_most: int
) -> list[UUID]:
    """Return the submissions in these states that a suppression applies to."""
    statement = select(submission.c.id).where(submission.c.state.in_([state.value for state in states]))
    if active.scope is SuppressionScope.CONTENT:
        statement = statement.where(submission.c.content_digest == active.content_digest)
    else:
        statement = statement.where(
            submission.c.repository_id == active.repository_id, submission.c.skill_path == active.skill_path
        )
    return list((await db.execute(statement.order_by(submission.c.id).limit(at_most))).scalars())


def suppression_of(row: Any) -> Suppression:
    """A row of COLUMNS as a value."""
    fields = {column.key: getattr(row, column.key) for column in COLUMNS}
    return Suppression(**fields | {"scope": SuppressionScope(row.scope), "excerpts": tuple(row.excerpts)})
