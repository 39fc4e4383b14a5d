"""What a result means: it is kept, and a critical finding that is sure takes the content down everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.excerpt import LONGEST_EXCERPT, LONGEST_MESSAGE, LONGEST_NAME, plain
from assay.deepscan.messages import FindingMessage, ScanResult
from assay.model.blocklist import BlocklistEntry, Target, Threat
from assay.model.deep_scan import RESULTS, DeepResult, DeepScan, DeepStatus
from assay.model.errors import Conflict
from assay.model.finding import Finding, Severity
from assay.model.ids import new_id
from assay.moderation.blocklist import block
from assay.policy.policy import SURE
from assay.store.moderation.blocklist import check_blocklist, hold_blocklist_alone
from assay.store.operations.audit import record_audit
from assay.store.scans.deep_scans import MOST_ATTEMPTS, finish, lock_scan, try_again
from assay.store.scans.deliveries import take_delivery

THREATS: Mapping[str, Threat] = MappingProxyType(
    {"credential-theft": Threat.CREDENTIAL_THEFT, "remote-code": Threat.MALWARE, "secret": Threat.OTHER}
)


@dataclass(frozen=True)
class Taken:
    """What became of a result: where the scan stands, whether it had one before, and which listings changed."""

    status: DeepStatus
    was_known: bool = False
    withdrawn: Sequence[str] = ()


async def take_result(db: AsyncConnection, said: ScanResult, now: datetime) -> Taken:
    """Keep a result and draw the conclusions, in one transaction. Raises Conflict for what was not dispatched so."""
    result = result_of(said)
    sure = confirmed(result.findings)
    if sure:
        # Before any row is locked: whoever publishes holds the list first, and the rows of scans after.
        await hold_blocklist_alone(db)
    if not await take_delivery(db, said.delivery_id, said.scan_id):
        raise Conflict("This delivery was taken before.", code="delivery_replayed")
    scan = await _expected(db, said)
    if scan.status in RESULTS:
        return Taken(scan.status, was_known=True)
    if result.status is DeepStatus.ERROR and scan.attempts < MOST_ATTEMPTS:
        status = await try_again(db, scan, result.error or "", now)
    else:
        await finish(db, scan, said.tool_version, result, said.sandbox, now)
        status = result.status
    return Taken(status, withdrawn=await _take_down(db, scan, sure, now) if sure else ())


def confirmed(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that take a content down without asking anybody."""
    return [each for each in findings if each.severity is Severity.CRITICAL and each.confidence >= SURE]


def result_of(said: ScanResult) -> DeepResult:
    """What a node said, as it may be kept and shown: nodes are believed, but not in the form of what they write."""
    return DeepResult(
        said.status,
        tuple(map(_finding, said.findings)),
        said.left_out,
        plain(said.error, LONGEST_MESSAGE) if said.error else None,
        said.duration_ms,
    )


async def _expected(db: AsyncConnection, said: ScanResult) -> DeepScan:
    """The scan that this is a result of, if it was given out to this node as it says."""
    found = await lock_scan(db, said.scan_id)
    if found is None:
        raise Conflict("No such scan was dispatched.", code="scan_not_dispatched")
    scan, node_id, lease = found
    if (scan.content_digest, scan.commit, scan.tool) != (said.content_digest, said.commit, said.tool):
        raise Conflict("The scan was dispatched for another content, commit or tool.", code="result_does_not_match")
    if scan.status not in RESULTS and (node_id, lease) != (said.node_id, said.lease):
        raise Conflict("The scan is not leased to this node any more.", code="lease_lost")
    return scan


async def _take_down(db: AsyncConnection, scan: DeepScan, sure: Sequence[Finding], now: datetime) -> list[str]:
    """Withdraw every version with these bytes, and let nobody publish them again."""
    target = Target(content_digest=scan.content_digest)
    if await check_blocklist(db, target) is not None:
        return []
    worst = sure[0]
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
    detail = {"scan": str(scan.id), "rules": sorted({each.rule_id for each in sure}), "skills": names}
    await record_audit(db, by, "deep_scan_confirmed", scan.content_digest, detail)
    return names


def _finding(said: FindingMessage) -> Finding:
    return Finding(
        rule_id=plain(said.rule_id, LONGEST_NAME),
        family=plain(said.family, LONGEST_NAME),
        severity=said.severity,
        confidence=said.confidence,
        file=said.file,
        line=said.line,
        excerpt=plain(said.excerpt, LONGEST_EXCERPT),
        message=plain(said.message, LONGEST_MESSAGE),
        remediation=plain(said.remediation, LONGEST_MESSAGE),
    )
