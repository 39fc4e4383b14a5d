"""Security reports about listings."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import Threat
from assay.model.errors import NotFound
from assay.model.moderation import ReportOutcome, SecurityReport
from assay.model.submission import State
from assay.store.tables import security_report, skill, submission, suppression

OPEN = security_report.c.outcome.is_(None)
IS_ANONYMOUS = security_report.c.reporter.is_(None)
COLUMNS = (
    security_report.c.id,
    security_report.c.skill_id,
    skill.c.name.label("skill_name"),
    security_report.c.version,
    security_report.c.content_digest,
    security_report.c.category,
    security_report.c.text,
    security_report.c.reporter,
    security_report.c.created_at,
    security_report.c.outcome,
    security_report.c.answer,
    security_report.c.answered_by,
    security_report.c.answered_at,
)


@dataclass(frozen=True, slots=True)
class OldestUnanswered:
    """When the oldest open report and review were created, and when the next suppression expires."""

    report_at: datetime | None = None
    review_at: datetime | None = None
    suppressed_until: datetime | None = None


async def add_report(db: AsyncConnection, new: SecurityReport) -> None:
    await db.execute(
        insert(security_report).values(
            id=new.id,
            skill_id=new.skill_id,
            version=new.version,
            content_digest=new.content_digest,
            category=new.category.value,
            text=new.text,
            reporter=new.reporter,
            created_at=new.created_at,
        )
    )


async def get_report(db: AsyncConnection, report_id: UUID, *, locked: bool = False) -> SecurityReport:
    """Raise NotFound if it does not exist."""
    statement = _read().where(security_report.c.id == report_id)
    row = (await db.execute(statement.with_for_update(of=security_report) if locked else statement)).one_or_none()
    if row is None:
        raise NotFound(f"There is no report {report_id}.", code="report_not_found")
    return _report_of(row)


async def find_same_report(
    db: AsyncConnection, reporter: str, skill_id: UUID, version: str, category: Threat
) -> SecurityReport | None:
    """Return the open report by the same account about the same version and category."""
    row = await db.execute(
        _read().where(
            OPEN,
            security_report.c.skill_id == skill_id,
            security_report.c.reporter == reporter,
            security_report.c.version == version,
            security_report.c.category == category.value,
        )
    )
    found = row.first()
    return _report_of(found) if found else None


async def count_open_anonymous(db: AsyncConnection, skill_id: UUID, at_most: int) -> int:
    """Count the open reports about a listing from callers without an account, up to `at_most`."""
    is_counted = (OPEN, IS_ANONYMOUS, security_report.c.skill_id == skill_id)
    counted = select(security_report.c.id).where(*is_counted).limit(at_most).subquery()
    return int((await db.execute(select(func.count()).select_from(counted))).scalar_one())


async def answer_report(
    db: AsyncConnection, report: SecurityReport, outcome: ReportOutcome, *, answer: str, by: str, at: datetime
) -> list[UUID]:
    """Answer a report and all other open ones about the same version. Returns their ids."""
    is_same = (
        OPEN,
        security_report.c.skill_id == report.skill_id,
        security_report.c.version == report.version,
    )
    values = {"outcome": outcome.value, "answer": answer, "answered_by": by, "answered_at": at}
    answered = update(security_report).where(*is_same).values(values).returning(security_report.c.id)
    return sorted((await db.execute(answered)).scalars())


async def list_reports(
    db: AsyncConnection,
    *,
    is_open: bool | None,
    category: Threat | None,
    skill_name: str | None,
    after: tuple[bool, UUID] | None,
    limit: int,
) -> list[SecurityReport]:
    """Return reports of accounts first, then those without an account, oldest first; `after` is the last one read."""
    statement = _read().order_by(IS_ANONYMOUS, security_report.c.id).limit(limit)
    if is_open is not None:
        statement = statement.where(OPEN if is_open else ~OPEN)
    if category is not None:
        statement = statement.where(security_report.c.category == category.value)
    if skill_name is not None:
        statement = statement.where(skill.c.name == skill_name.lower())
    if after is not None:
        statement = statement.where(tuple_(IS_ANONYMOUS, security_report.c.id) > tuple_(*after))
    return [_report_of(row) for row in await db.execute(statement)]


async def find_unanswered(db: AsyncConnection) -> OldestUnanswered:
    """Return what has waited longest for a person, and the next suppression to expire."""
    report_at = select(security_report.c.created_at).where(OPEN).order_by(security_report.c.id).limit(1)
    in_review = select(submission.c.updated_at).where(submission.c.state == State.NEEDS_REVIEW.value)
    review_at = in_review.order_by(submission.c.updated_at, submission.c.id).limit(1)
    until = select(func.min(suppression.c.until)).where(suppression.c.ended_at.is_(None))
    facts = select(report_at.scalar_subquery(), review_at.scalar_subquery(), until.scalar_subquery())
    return OldestUnanswered(*(await db.execute(facts)).one())


def _read() -> Select[Any]:
    return select(*COLUMNS).join_from(security_report, skill, security_report.c.skill_id == skill.c.id)


def _report_of(row: Any) -> SecurityReport:
    return SecurityReport(
        id=row.id,
        skill_id=row.skill_id,
        skill_name=row.skill_name,
        version=row.version,
        content_digest=row.content_digest,
        category=Threat(row.category),
        text=row.text,
        reporter=row.reporter,
        created_at=row.created_at,
        outcome=ReportOutcome(row.outcome) if row.outcome else None,
        answer=row.answer,
        answered_by=row.answered_by,
        answered_at=row.answered_at,
    )
