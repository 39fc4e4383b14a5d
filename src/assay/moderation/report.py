"""Security reports and their resolution."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.rate_limit import RateLimit, enforce_rate_limit, network_of
from assay.model.account import Caller
from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.clock import Clock
from assay.model.errors import Conflict, NotFound, Throttled
from assay.model.finding import Severity
from assay.model.ids import new_id
from assay.model.moderation import MAX_STATEMENT_LENGTH, MIN_STATEMENT_LENGTH, ReportOutcome, SecurityReport
from assay.model.skill import Skill, StatusReason, VersionStatus
from assay.model.text import clean_statement
from assay.moderation.blocklist import block
from assay.moderation.withdraw import withdraw
from assay.store.moderation.blocklist import check_blocklist
from assay.store.moderation.security_reports import (
    add_report,
    answer_report,
    count_open_anonymous,
    find_same_report,
    get_report,
)
from assay.store.operations.audit import record_audit
from assay.store.versions.versions import find_version

DAY_SECONDS, RETRY_SECONDS = 86_400, 3_600


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """Reports per day of an account and of an address, and open anonymous reports of a listing; 0 is no limit."""

    per_account: int
    per_address: int
    open_anonymous: int


@dataclass(frozen=True)
class NewReport:
    """A report as sent; without a version it is about the current one."""

    category: Threat
    text: str
    version: str | None
    address: str


async def file_report(
    db: AsyncConnection, listing: Skill, report: NewReport, caller: Caller, limits: ReportLimits, clock: Clock
) -> SecurityReport:
    """Store a report. The same report from the same account returns the first one. Raises Throttled.

    Anonymous reports count only against anonymous callers, and reviewers have no limits.
    """
    text = clean_statement(report.text, "text", shortest=MIN_STATEMENT_LENGTH, longest=MAX_STATEMENT_LENGTH)
    version = await find_version(db, listing.id, report.version or listing.current_version)
    if version is None:
        raise NotFound(f"{listing.name} has no version {report.version}.", code="version_not_found")
    reporter = str(caller.account_id) if caller.account_id else None
    if reporter is not None:
        known = await find_same_report(db, reporter, listing.id, version.version, report.category)
        if known is not None:
            return known
    if not caller.is_reviewer:
        await _limit(db, listing, reporter, report.address, limits, clock)
    new = SecurityReport(
        id=new_id(),
        skill_id=listing.id,
        skill_name=listing.name,
        version=version.version,
        content_digest=version.content_digest,
        category=report.category,
        text=text,
        reporter=reporter,
        created_at=clock.now(),
    )
    await add_report(db, new)
    return new


async def _limit(
    db: AsyncConnection, listing: Skill, reporter: str | None, address: str, limits: ReportLimits, clock: Clock
) -> None:
    """Count the report against its account, or against its network and the listing. Raises Throttled."""
    if reporter is not None:
        limit = RateLimit("reports of an account", limits.per_account, DAY_SECONDS)
        await enforce_rate_limit(db, limit, reporter, clock.now())
        return
    at_most = limits.open_anonymous
    if at_most and await count_open_anonymous(db, listing.id, at_most) >= at_most:
        message = f"{listing.name} has {at_most:,} unanswered reports from callers without an account. "
        message += "Sign in to send yours now, or try again later."
        raise Throttled(message, code="too_many_reports", retry_after_seconds=RETRY_SECONDS)
    hint = "Sign in to send more."
    limit = RateLimit("reports without an account", limits.per_address, DAY_SECONDS, hint)
    await enforce_rate_limit(db, limit, network_of(address), clock.now())


async def resolve_report(
    db: AsyncConnection, report_id: UUID, outcome: ReportOutcome, why: StatusReason
) -> tuple[SecurityReport, list[UUID]]:
    """Answer a report and all others about the same version, and withdraw or block it, in one transaction."""
    report = await get_report(db, report_id)
    if outcome is ReportOutcome.BLOCKED:
        await _block(db, report, why)
    # The blocklist is always locked first.
    report = await get_report(db, report_id, locked=True)
    if report.outcome is not None:
        raise Conflict(f"This report was already answered: {report.outcome}.", code="report_answered")
    if outcome is ReportOutcome.WITHDRAWN:
        await _withdraw(db, report, why)
    answered = await answer_report(db, report, outcome, answer=why.message, by=why.by, at=why.at)
    detail = {"skill": report.skill_name, "version": report.version, "outcome": outcome.value, "reason": why.message}
    await record_audit(db, why.by, "report_resolved", str(report_id), detail | {"reports": len(answered)})
    return await get_report(db, report_id), answered


async def _withdraw(db: AsyncConnection, report: SecurityReport, why: StatusReason) -> None:
    version = await find_version(db, report.skill_id, report.version)
    if version is not None and version.status is not VersionStatus.WITHDRAWN:
        await withdraw(db, report.skill_name, report.version, why)


async def _block(db: AsyncConnection, report: SecurityReport, why: StatusReason) -> None:
    target = BlocklistTarget(content_digest=report.content_digest)
    if await check_blocklist(db, target) is not None:
        return
    await block(
        db,
        BlocklistEntry(
            id=new_id(),
            target=target,
            threat=report.category,
            severity=Severity.CRITICAL,
            reason=why.message,
            evidence_urls=(),
            discovered_at=why.at,
            added_by=why.by,
            lifted_at=None,
        ),
    )
