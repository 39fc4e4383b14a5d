"""Security status of the live version of a listing, by scan provider, for installers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan, DeepStatus
from assay.model.finding import Finding, Severity
from assay.model.moderation import HumanDecisions, Review
from assay.model.skill import ListingStatus, Skill
from assay.model.verdict import Outcome, Path, Scan
from assay.serve.moderation.human_decisions import read_human_decisions
from assay.serve.skills.catalogue import find_any_listing
from assay.serve.visibility import require_visible
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans

BLOCKLISTED = "blocklisted"


class SecurityStatus(StrEnum):
    """The words."""

    PASS = "PASS"  # noqa: S105 - a status, not a password
    FAIL = "FAIL"
    CERTIFIED = "CERTIFIED"
    PENDING = "PENDING"
    NOT_APPLICABLE = "NOT_APPLICABLE"


@dataclass(frozen=True, slots=True)
class Provider:
    """A scanner with its result; pending if it failed, which is not a verdict.

    `overruled` is set if a review or a suppression overrides a failed result.
    """

    name: str
    answer: SecurityStatus
    critical: int
    overruled: Path | None = None

    @property
    def status(self) -> SecurityStatus:
        """The result after human decisions."""
        return SecurityStatus.PASS if self.overruled else self.answer


@dataclass(frozen=True)
class Security:
    """The overall status of a listing, and that of each provider."""

    skill: Skill
    overall: SecurityStatus
    providers: list[Provider]
    review: Review | None = None


async def read_security(db: AsyncConnection, name: str) -> Security:
    """Read the status of a live or blocked listing; raises Gone for others."""
    skill = await find_any_listing(db, name)
    if skill.standing is ListingStatus.BLOCKED or (skill.remark is not None and skill.remark.code == BLOCKLISTED):
        return Security(skill, SecurityStatus.FAIL, [Provider("blocklist", SecurityStatus.FAIL, 1)])
    require_visible(skill)
    decisions = await read_human_decisions(db, skill.id, skill.content_digest, skill.tier)
    providers = _providers(await list_scans(db, skill.content_digest), decisions)
    deep = (await list_deep_scans(db, [skill.content_digest])).get(skill.content_digest, [])
    providers += [Provider(f"tier 3: {scan.tool}", _deep_answer(scan), _critical(scan.findings)) for scan in deep]
    overall = SecurityStatus.CERTIFIED if skill.tier.is_reviewed else SecurityStatus.PASS
    return Security(skill, overall, providers, decisions.review)


def _providers(scans: list[Scan], decisions: HumanDecisions) -> list[Provider]:
    """Return the latest scan of each tier and engine."""
    newest: dict[str, Scan] = {}
    for scan in scans:
        newest.setdefault(f"tier {scan.tier}: {scan.report.engine}", scan)
    return [
        Provider(name, _answer(scan), _critical(scan.report.findings), _overruled(scan, decisions))
        for name, scan in sorted(newest.items())
    ]


def _overruled(scan: Scan, decisions: HumanDecisions) -> Path | None:
    """Return the kind of decision that overrides a failed scan; None for other outcomes."""
    if scan.outcome is not Outcome.FAIL:
        return None
    if decisions.approval_of(scan.report) is not None:
        return Path.REVIEWED
    is_helped = any(decisions.suppression_of(finding) for finding in scan.report.findings)
    return Path.SUPPRESSED if is_helped else None


def _answer(scan: Scan) -> SecurityStatus:
    match scan.outcome:
        case Outcome.ERROR:
            return SecurityStatus.PENDING
        case Outcome.FAIL:
            return SecurityStatus.FAIL
        case Outcome.PASS | Outcome.CONCERNS:
            return SecurityStatus.PASS


def _deep_answer(scan: DeepScan) -> SecurityStatus:
    """Findings count as passed, because they did not withdraw the live version; errors are pending."""
    match scan.status:
        case DeepStatus.PENDING | DeepStatus.RUNNING | DeepStatus.ERROR:
            return SecurityStatus.PENDING
        case DeepStatus.NOT_APPLICABLE:
            return SecurityStatus.NOT_APPLICABLE
        case DeepStatus.CLEAN | DeepStatus.FINDINGS:
            return SecurityStatus.PASS


def _critical(findings: Sequence[Finding]) -> int:
    return sum(finding.severity is Severity.CRITICAL for finding in findings)
