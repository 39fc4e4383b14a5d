"""Scans and their findings, keyed by what was looked at and what looked at it."""

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Finding, Report, Severity
from assay.model.scan import Scan
from assay.model.verdict import Decision, Outcome, Verdict
from assay.store.tables import finding, scan

FINDING_COLUMNS = (
    finding.c.rule_id,
    finding.c.family,
    finding.c.severity,
    finding.c.confidence,
    finding.c.file,
    finding.c.line,
    finding.c.excerpt,
    finding.c.message,
    finding.c.remediation,
)


async def save_scan(db: AsyncConnection, tier: int, report: Report, verdict: Verdict) -> int:
    """Idempotent on content, tier, engine and ruleset; returns the scan's number."""
    statement = (
        upsert(scan)
        .values(
            content_digest=report.digest,
            tier=tier,
            engine=report.engine,
            ruleset=report.ruleset,
            has_code=report.has_code,
            outcome=verdict.outcome.value,
            decision=verdict.decision.value,
            path=verdict.path,
            score=verdict.score,
            duration_ms=report.duration_ms,
        )
        .on_conflict_do_nothing()
        .returning(scan.c.id)
    )
    number = (await db.execute(statement)).scalar_one_or_none()
    if number is None:
        return await _number_of(db, tier, report)
    rows = [
        {column.name: getattr(found, column.name) for column in FINDING_COLUMNS} | {"scan_id": number}
        for found in report.findings
    ]
    if rows:
        await db.execute(insert(finding), rows)
    return int(number)


async def find_report(db: AsyncConnection, digest: str, tier: int, engine: str, ruleset: str) -> Report | None:
    """What this engine with these rules has said about these bytes before, if it has."""
    kept = [
        each
        for each in await list_scans(db, digest)
        if (each.tier, each.report.engine, each.report.ruleset) == (tier, engine, ruleset)
    ]
    return kept[0].report if kept and kept[0].outcome is not Outcome.ERROR else None


async def list_scans(db: AsyncConnection, digest: str) -> list[Scan]:
    """All scans of a content, newest first, with their findings."""
    scans = (
        await db.execute(
            select(scan).where(scan.c.content_digest == digest).order_by(scan.c.created_at.desc(), scan.c.id.desc())
        )
    ).all()
    found: dict[int, list[Finding]] = {row.id: [] for row in scans}
    if found:
        statement = select(finding.c.scan_id, *FINDING_COLUMNS).where(finding.c.scan_id.in_(found))
        for scan_id, rule, family, severity, *rest in await db.execute(statement.order_by(finding.c.id)):
            found[scan_id].append(Finding(rule, family, Severity(severity), *rest))
    return [
        Scan(
            id=row.id,
            tier=row.tier,
            outcome=Outcome(row.outcome),
            decision=Decision(row.decision) if row.decision else None,
            score=row.score,
            path=row.path,
            report=Report(row.engine, row.ruleset, digest, tuple(found[row.id]), row.has_code, row.duration_ms),
            created_at=row.created_at,
        )
        for row in scans
    ]


async def _number_of(db: AsyncConnection, tier: int, report: Report) -> int:
    statement = select(scan.c.id).where(
        scan.c.content_digest == report.digest,
        scan.c.tier == tier,
        scan.c.engine == report.engine,
        scan.c.ruleset == report.ruleset,
    )
    return int((await db.execute(statement)).scalar_one())
