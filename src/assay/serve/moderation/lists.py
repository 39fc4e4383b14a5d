"""Pages of suppressions, newest first, and of security reports, those of accounts first, then oldest first."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import Threat
from assay.model.moderation import SecurityReport, Suppression
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.store.moderation.security_reports import list_reports
from assay.store.moderation.suppressions import list_suppressions

SUPPRESSIONS, REPORTS = "suppressions", "reports"


@dataclass(frozen=True)
class SuppressionsPage:
    suppressions: list[Suppression]
    next_cursor: str | None


@dataclass(frozen=True)
class ReportsPage:
    reports: list[SecurityReport]
    next_cursor: str | None


async def read_suppressions(
    db: AsyncConnection, *, holding: bool | None, rule_id: str | None, limit: int, cursor: str | None
) -> SuppressionsPage:
    """A page."""
    before = decode_cursor(cursor, SUPPRESSIONS, tuple[UUID])[0] if cursor is not None else None
    found = await list_suppressions(db, holding=holding, rule_id=rule_id, before=before, limit=limit + 1)
    page = found[:limit]
    return SuppressionsPage(page, encode_cursor(SUPPRESSIONS, (page[-1].id,)) if len(found) > limit else None)


async def read_reports(
    db: AsyncConnection,
    *,
    is_open: bool | None,
    category: Threat | None,
    skill_name: str | None,
    limit: int,
    cursor: str | None,
) -> ReportsPage:
    """A page."""
    after = decode_cursor(cursor, REPORTS, tuple[bool, UUID]) if cursor is not None else None
    found = await list_reports(
        db, is_open=is_open, category=category, skill_name=skill_name, after=after, limit=limit + 1
    )
    page = found[:limit]
    last = (page[-1].reporter is None, page[-1].id) if len(found) > limit else None
    return ReportsPage(page, encode_cursor(REPORTS, last) if last else None)
