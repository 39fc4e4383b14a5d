"""Security reports: taken from anybody, answered by an administrator, with what follows from the answer."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.login_throttle import network_of
from assay.accounts.rate_limit import Allowance, spend
from assay.model.account import Caller
from assay.model.blocklist import BlocklistEntry, Target, Threat
from assay.model.clock import Clock
from assay.model.errors import Conflict, NotFound, Throttled
from assay.model.finding import Severity
from assay.model.free_text import checked_statement
from assay.model.ids import new_id
from assay.model.listing_status import Remark, VersionStatus
from assay.model.security_report import LONGEST, SHORTEST, ReportOutcome, SecurityReport
from assay.model.skill import Skill
from assay.moderation.blocklist import block
from assay.moderation.withdraw import withdraw
from assay.store.moderation.blocklist import check_blocklist
from assay.store.moderation.security_reports import add_report, answer_report, count_open, find_same_report, get_report
from assay.store.operations.audit import record_audit
from assay.store.skills.skills import find_version

OF_AN_ACCOUNT = Allowance("reports of an account", at_most=20, seconds=86_400)
OF_AN_ADDRESS = Allowance("reports without an account", at_most=5, seconds=86_400)
# Nobody reads more of one listing; the first say what is to be said.
MOST_OPEN = 100
AN_HOUR = 3_600


@dataclass(frozen=True)
class Told:
    """What somebody says about a listing; without a version, about the live one."""

    category: Threat
    text: str
    version: str | None
    address: str


async def report(db: AsyncConnection, listing: Skill, told: Told, caller: Caller, clock: Clock) -> SecurityReport:
    """Write it down. The same account that says the same again has the same receipt."""
    text = checked_statement(told.text, "text", shortest=SHORTEST, longest=LONGEST)
    version = await find_version(db, listing.id, told.version or listing.current_version)
    if version is None:
        raise NotFound(f"{listing.name} has no version {told.version}.", code="version_not_found")
    reporter = str(caller.account_id) if caller.account_id else None
    if reporter is not None:
        known = await find_same_report(db, reporter, listing.id, version.version, told.category)
        if known is not None:
            return known
    if await count_open(db, listing.id, MOST_OPEN) >= MOST_OPEN:
        message = f"There are {MOST_OPEN} reports of {listing.name} that wait for an answer; yours would not be read."
        raise Throttled(message, code="too_many_reports", retry_after_seconds=AN_HOUR)
    if reporter is not None:
        await spend(db, OF_AN_ACCOUNT, reporter, clock.now())
    else:
        await spend(db, OF_AN_ADDRESS, network_of(told.address), clock.now())
    new = SecurityReport(
        id=new_id(),
        skill_id=listing.id,
        skill_name=listing.name,
        version=version.version,
        content_digest=version.content_digest,
        category=told.category,
        text=text,
        reporter=reporter,
        created_at=clock.now(),
    )
    await add_report(db, new)
    return new


async def resolve(
    db: AsyncConnection, report_id: UUID, outcome: ReportOutcome, why: Remark
) -> tuple[SecurityReport, list[UUID]]:
    """Answer a report and all others about the same version, and do what the answer says, in one transaction."""
    told = await get_report(db, report_id)
    if outcome is ReportOutcome.BLOCKED:
        await _block(db, told, why)
    # After the blocklist, which is always locked first.
    told = await get_report(db, report_id, locked=True)
    if told.outcome is not None:
        raise Conflict(f"It was answered already: {told.outcome}.", code="report_answered")
    if outcome is ReportOutcome.WITHDRAWN:
        await _withdraw(db, told, why)
    answered = await answer_report(db, told, outcome, answer=why.message, by=why.by, at=why.at)
    detail = {"skill": told.skill_name, "version": told.version, "outcome": outcome.value, "reason": why.message}
    await record_audit(db, why.by, "report_resolved", str(report_id), detail | {"reports": len(answered)})
    return await get_report(db, report_id), answered


async def _withdraw(db: AsyncConnection, told: SecurityReport, why: Remark) -> None:
    version = await find_version(db, told.skill_id, told.version)
    if version is not None and version.status is not VersionStatus.WITHDRAWN:
        await withdraw(db, told.skill_name, told.version, why)


async def _block(db: AsyncConnection, told: SecurityReport, why: Remark) -> None:
    target = Target(content_digest=told.content_digest)
    if await check_blocklist(db, target) is not None:
        return
    await block(
        db,
        BlocklistEntry(
            id=new_id(),
            target=target,
            threat=told.category,
            severity=Severity.CRITICAL,
            reason=why.message,
            evidence_urls=(),
            discovered_at=why.at,
            added_by=why.by,
            lifted_at=None,
        ),
    )
