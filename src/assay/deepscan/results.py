"""Application of results: they are stored, and a certain critical finding withdraws the content everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.excerpt import LONGEST_EXCERPT, LONGEST_MESSAGE, LONGEST_NAME, printable_line
from assay.deepscan.messages import FindingMessage, ScanResult
from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.deep_scan import RESULTS, DeepResult, DeepScan, DeepStatus
from assay.model.errors import Conflict
from assay.model.finding import Finding, Severity
from assay.model.ids import new_id
from assay.moderation.blocklist import block
from assay.policy.policy import HIGH_CONFIDENCE
from assay.store.moderation.blocklist import check_blocklist, lock_blocklist
from assay.store.operations.audit import record_audit
from assay.store.scans.deep_scans import MAX_ATTEMPTS, finish_scan, lock_scan, retry_or_fail
from assay.store.scans.deliveries import claim_delivery

THREATS: Mapping[str, Threat] = MappingProxyType(
    {"credential-theft": Threat.CREDENTIAL_THEFT, "remote-code": Threat.MALWARE, "secret": Threat.OTHER}
)


@dataclass(frozen=True)
class AcceptedResult:
    """The status of the scan, whether it already had a result, and the listings that were withdrawn."""

    status: DeepStatus
    was_known: bool = False
    withdrawn: Sequence[str] = ()


async def accept_result(db: AsyncConnection, reported: ScanResult, now: datetime) -> AcceptedResult:
    """Store a result and act on it, in the caller's transaction. Raises Conflict if it matches no dispatched scan."""
    result = to_result(reported)
    certain = certain_findings(result.findings)
    if certain:
        # Lock the blocklist before any row: publishing locks in the same order.
        await lock_blocklist(db)
    if not await claim_delivery(db, reported.delivery_id, reported.scan_id):
        raise Conflict("This delivery was already accepted.", code="delivery_replayed")
    scan = await _matching_scan(db, reported)
    if scan.status in RESULTS:
        return AcceptedResult(scan.status, was_known=True)
    if result.status is DeepStatus.ERROR and scan.attempts < MAX_ATTEMPTS:
        status = await retry_or_fail(db, scan, result.error or "", now)
    else:
        await finish_scan(db, scan, reported.tool_version, result, reported.sandbox, now)
        status = result.status
    return AcceptedResult(status, withdrawn=await _withdraw(db, scan, certain, now) if certain else ())


def certain_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that withdraw content without a review."""
    return [each for each in findings if each.severity is Severity.CRITICAL and each.confidence >= HIGH_CONFIDENCE]


def to_result(reported: ScanResult) -> DeepResult:
    """Convert a message to a result and sanitise its text: nodes are trusted with results, not with formatting."""
    return DeepResult(
        reported.status,
        tuple(map(_finding, reported.findings)),
        reported.left_out,
        printable_line(reported.error, LONGEST_MESSAGE) if reported.error else None,
        reported.duration_ms,
    )


async def _matching_scan(db: AsyncConnection, reported: ScanResult) -> DeepScan:
    """Lock and return the scan of a result; raise Conflict unless it is leased to this node."""
    found = await lock_scan(db, reported.scan_id)
    if found is None:
        raise Conflict("There is no such dispatched scan.", code="scan_not_dispatched")
    scan, node_id, lease = found
    if (scan.content_digest, scan.commit, scan.tool) != (reported.content_digest, reported.commit, reported.tool):
        raise Conflict(
            "The scan was dispatched for different content, or another commit or tool.", code="result_does_not_match"
        )
    if scan.status not in RESULTS and (node_id, lease) != (reported.node_id, reported.lease):
        raise Conflict("The scan is no longer leased to this node.", code="lease_lost")
    return scan


async def _withdraw(db: AsyncConnection, scan: DeepScan, certain: Sequence[Finding], now: datetime) -> list[str]:
    """Block this content, which withdraws every version of it; return the names of the listings."""
    target = BlocklistTarget(content_digest=scan.content_digest)
    if await check_blocklist(db, target) is not None:
        return []
    worst = certain[0]
    by = f"deep scan ({scan.tool})"
    entry = BlocklistEntry(
        id=new_id(),
        target=target,
        threat=THREATS.get(worst.family, Threat.MALWARE),
        severity=Severity.CRITICAL,
        reason=f"{scan.tool} found {worst.rule_id} in {worst.file}, line {worst.line}: {worst.message}",
        evidence_urls=(),
        discovered_at=now,
        added_by=by,
        lifted_at=None,
    )
    names = await block(db, entry)
    detail = {"scan": str(scan.id), "rules": sorted({each.rule_id for each in certain}), "skills": names}
    await record_audit(db, by, "deep_scan_confirmed", scan.content_digest, detail)
    return names


def _finding(reported: FindingMessage) -> Finding:
    return Finding(
        rule_id=printable_line(reported.rule_id, LONGEST_NAME),
        family=printable_line(reported.family, LONGEST_NAME),
        severity=reported.severity,
        confidence=reported.confidence,
        file=reported.file,
        line=reported.line,
        excerpt=printable_line(reported.excerpt, LONGEST_EXCERPT),
        message=printable_line(reported.message, LONGEST_MESSAGE),
        remediation=printable_line(reported.remediation, LONGEST_MESSAGE),
    )
