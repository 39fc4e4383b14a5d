"""Scans and their findings, keyed by content, tier, engine and ruleset."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from sqlalchemy import ARRAY, BigInteger, Text, any_, literal, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Capabilities, Finding, Region, Report, Severity
from assay.model.source import Manifest
from assay.model.verdict import Decision, FindingRuling, Outcome, Scan, Usage, Verdict
from assay.store.database.records import json_text, recordset
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
    finding.c.region,
)

FINDING_NAMES = ", ".join(column.name for column in FINDING_COLUMNS)
KEY = "scan.tier = :tier AND scan.engine = :engine AND scan.ruleset = :ruleset"
FIND = text(
    f"""
    SELECT scan.content_digest, scan.has_code, scan.duration_ms,
        -- Once per scan, not once per finding.
        CASE row_number() OVER (PARTITION BY scan.id ORDER BY finding.id) WHEN 1 THEN scan.capabilities END,
        {", ".join(f"finding.{column.name}" for column in FINDING_COLUMNS)}
    FROM scan LEFT JOIN finding ON finding.scan_id = scan.id
    WHERE scan.content_digest = ANY(CAST(:digests AS text[])) AND {KEY} AND scan.outcome <> 'ERROR'
    ORDER BY finding.id
    """
)
IDS = text(f"SELECT id, content_digest FROM scan WHERE content_digest = ANY(CAST(:digests AS text[])) AND {KEY}")
MOST_SEVERE = text(
    f"""
    SELECT wanted.digest, {", ".join(f"worst.{column.name}" for column in FINDING_COLUMNS)}
    FROM unnest(CAST(:digests AS text[])) AS wanted (digest)
    CROSS JOIN LATERAL (
        SELECT finding.* FROM (
            SELECT DISTINCT ON (tier) id FROM scan WHERE content_digest = wanted.digest
            ORDER BY tier, created_at DESC, id DESC
        ) AS last
        JOIN finding ON finding.scan_id = last.id
        ORDER BY array_position(CAST(:severities AS text[]), severity), confidence DESC, finding.id LIMIT :each
    ) AS worst
    """
).bindparams(severities=[severity.value for severity in Severity])
SAVE = text(
    f"""
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (
            digest text, files jsonb, file_count int, size_bytes bigint, has_code boolean, outcome text,
            decision text, path text, score int, duration_ms float, capabilities jsonb, findings jsonb
        )
    ), kept_content AS (
        INSERT INTO content (digest, files, file_count, size_bytes)
        SELECT digest, files, file_count, size_bytes FROM given
        ON CONFLICT DO NOTHING
    ), kept AS (
        INSERT INTO scan
            (content_digest, tier, engine, ruleset, has_code, outcome, decision, path, score, duration_ms, capabilities)
        SELECT digest, :tier, :engine, :ruleset, has_code, outcome, decision, path, score, duration_ms, capabilities
        FROM given
        ON CONFLICT DO NOTHING
        RETURNING id, content_digest
    ), found AS (
        INSERT INTO finding (scan_id, {FINDING_NAMES})
        SELECT kept.id, {FINDING_NAMES}
        FROM kept JOIN given ON given.digest = kept.content_digest,
            jsonb_to_recordset(given.findings) AS seen ({recordset(FINDING_COLUMNS)})
    )
    SELECT id, content_digest FROM kept
    """
)


@dataclass(frozen=True)
class ScannedContent:
    """A scanned content with its report and verdict."""

    manifest: Manifest
    report: Report
    verdict: Verdict


async def save_scans(db: AsyncConnection, tier: int, examined: Sequence[ScannedContent]) -> dict[str, int]:
    """Store scans of one engine and ruleset, and return their ids by digest. Idempotent."""
    by_digest = {each.report.digest: each for each in examined}
    report = examined[0].report
    key = {"tier": tier, "engine": report.engine, "ruleset": report.ruleset}
    rows = json_text([_row(each) for each in by_digest.values()])
    numbers = {digest: number for number, digest in await db.execute(SAVE, key | {"rows": rows})}
    missing = sorted(by_digest.keys() - numbers.keys())
    if missing:
        known = await db.execute(IDS, key | {"digests": missing})
        numbers |= {digest: number for number, digest in known}
    return numbers


async def find_reports(
    db: AsyncConnection, digests: Sequence[str], tier: int, engine: str, ruleset: str
) -> dict[str, Report]:
    """Return the stored reports of this engine and ruleset about these contents; others are left out."""
    key = {"digests": list(digests), "tier": tier, "engine": engine, "ruleset": ruleset}
    reports: dict[str, Report] = {}
    for digest, has_code, duration_ms, capabilities, *columns in await db.execute(FIND, key):
        if digest not in reports:
            capability_set = msgspec.convert(capabilities, Capabilities)
            reports[digest] = Report(engine, ruleset, digest, (), has_code, duration_ms, capability_set)
        if columns[0] is not None:
            known = reports[digest]
            reports[digest] = replace(known, findings=(*known.findings, finding_of(*columns)))
    return reports


async def list_scans(db: AsyncConnection, digest: str) -> list[Scan]:
    """Return all scans of the content with their findings, newest first."""
    return (await list_all_scans(db, [digest])).get(digest, [])


async def list_all_scans(db: AsyncConnection, digests: Sequence[str]) -> dict[str, list[Scan]]:
    """Return the scans of many contents by digest; contents without a scan are left out."""
    ordered = scan.c.created_at.desc(), scan.c.id.desc()
    of_digests = scan.c.content_digest == any_(literal(list(digests), ARRAY(Text)))
    scans = (await db.execute(select(scan).where(of_digests).order_by(*ordered))).all()
    found: dict[int, list[Finding]] = {row.id: [] for row in scans}
    if found:
        of_scans = finding.c.scan_id == any_(literal(list(found), ARRAY(BigInteger)))
        statement = select(finding.c.scan_id, *FINDING_COLUMNS).where(of_scans)
        for scan_id, *columns in await db.execute(statement.order_by(finding.c.id)):
            found[scan_id].append(finding_of(*columns))
    by_digest: dict[str, list[Scan]] = {}
    for row in scans:
        by_digest.setdefault(row.content_digest, []).append(_scan(row, found[row.id]))
    return by_digest


async def find_most_severe(db: AsyncConnection, digests: Sequence[str], each: int) -> dict[str, list[Finding]]:
    """Return up to `each` most severe findings of the last static scan and judgement of each content."""
    found: dict[str, list[Finding]] = {}
    for digest, *columns in await db.execute(MOST_SEVERE, {"digests": list(digests), "each": each}):
        found.setdefault(digest, []).append(finding_of(*columns))
    return found


def _scan(row: Any, findings: Sequence[Finding]) -> Scan:
    return Scan(
        id=row.id,
        tier=row.tier,
        outcome=Outcome(row.outcome),
        decision=Decision(row.decision) if row.decision else None,
        score=row.score,
        path=row.path,
        report=Report(
            row.engine,
            row.ruleset,
            row.content_digest,
            tuple(findings),
            row.has_code,
            row.duration_ms,
            msgspec.convert(row.capabilities, Capabilities),
        ),
        created_at=row.created_at,
        model=row.model,
        usage=None if row.prompt_tokens is None else Usage(row.prompt_tokens, row.completion_tokens, row.cost_micros),
        rulings=tuple(msgspec.convert(row.rulings, list[FindingRuling])),
        problem=row.problem,
    )


def finding_of(rule_id: str, family: str, severity: str, *rest: Any) -> Finding:
    region: str | None = rest[-1]
    return replace(Finding(rule_id, family, Severity(severity), *rest), region=Region(region) if region else None)


def _row(examined: ScannedContent) -> dict[str, object]:
    manifest, report, verdict = examined.manifest, examined.report, examined.verdict
    return {
        "digest": report.digest,
        "files": [[entry.path, entry.size, entry.sha256] for entry in manifest.files],
        "file_count": len(manifest.files),
        "size_bytes": manifest.size_bytes,
        "has_code": report.has_code,
        "outcome": verdict.outcome,
        "decision": verdict.decision,
        "path": verdict.path,
        "score": verdict.score,
        "duration_ms": report.duration_ms,
        "capabilities": report.capabilities,
        "findings": report.findings,
    }
