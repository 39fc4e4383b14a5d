"""Scans and their findings, keyed by what was looked at and what looked at it."""

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Finding, Report, Severity
from assay.model.scan import Scan
from assay.model.source import Manifest
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


FINDING_NAMES = tuple(column.name for column in FINDING_COLUMNS)
FINDING_TYPES = ", ".join(f"{column.name} {column.type.compile()}" for column in FINDING_COLUMNS)
FIND = text(
    f"""
    SELECT scan.has_code, scan.duration_ms, {", ".join(f"finding.{name}" for name in FINDING_NAMES)}
    FROM scan LEFT JOIN finding ON finding.scan_id = scan.id
    WHERE content_digest = :digest AND tier = :tier AND engine = :engine AND ruleset = :ruleset AND outcome <> 'ERROR'
    ORDER BY finding.id
    """
)
SAVE = text(
    f"""
    WITH kept_content AS (
        INSERT INTO content (digest, files, file_count, size_bytes)
        VALUES (:digest, CAST(:files AS jsonb), :file_count, :size_bytes)
        ON CONFLICT DO NOTHING
    ), kept AS (
        INSERT INTO scan
            (content_digest, tier, engine, ruleset, has_code, outcome, decision, path, score, duration_ms)
        VALUES (:digest, :tier, :engine, :ruleset, :has_code, :outcome, :decision, :path, :score, :duration_ms)
        ON CONFLICT DO NOTHING
        RETURNING id
    ), found AS (
        INSERT INTO finding (scan_id, {", ".join(FINDING_NAMES)})
        SELECT kept.id, {", ".join(FINDING_NAMES)}
        FROM kept, jsonb_to_recordset(CAST(:findings AS jsonb)) AS given ({FINDING_TYPES})
    )
    SELECT id FROM kept
    UNION ALL
    SELECT id FROM scan WHERE content_digest = :digest AND tier = :tier AND engine = :engine AND ruleset = :ruleset
    """
)


async def save_scan(db: AsyncConnection, tier: int, manifest: Manifest, report: Report, verdict: Verdict) -> int:
    """Keep what was looked at and what was found; idempotent on content, tier, engine and ruleset."""
    values = {
        "digest": report.digest,
        "files": json.dumps([[entry.path, entry.size, entry.sha256] for entry in manifest.files]),
        "file_count": len(manifest.files),
        "size_bytes": manifest.size_bytes,
        "tier": tier,
        "engine": report.engine,
        "ruleset": report.ruleset,
        "has_code": report.has_code,
        "outcome": verdict.outcome.value,
        "decision": verdict.decision.value,
        "path": verdict.path,
        "score": verdict.score,
        "duration_ms": report.duration_ms,
        "findings": json.dumps([asdict(each) for each in report.findings]),
    }
    return int((await db.execute(SAVE, values)).scalars().one())


async def find_report(db: AsyncConnection, digest: str, tier: int, engine: str, ruleset: str) -> Report | None:
    """What this engine with these rules has said about these bytes before, if it has."""
    key = {"digest": digest, "tier": tier, "engine": engine, "ruleset": ruleset}
    rows = (await db.execute(FIND, key)).all()
    if not rows:
        return None
    findings = [_finding(*row[2:]) for row in rows if row[2] is not None]
    return Report(engine, ruleset, digest, tuple(findings), rows[0].has_code, rows[0].duration_ms)


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
        for scan_id, *columns in await db.execute(statement.order_by(finding.c.id)):
            found[scan_id].append(_finding(*columns))
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


def _finding(rule_id: str, family: str, severity: str, *rest: Any) -> Finding:
    return Finding(rule_id, family, Severity(severity), *rest)
