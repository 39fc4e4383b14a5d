"""What the scans say of the live version of a listing, in the words that installers ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan, DeepStatus
from assay.model.finding import Finding, Severity
from assay.model.human_decisions import Said
from assay.model.listing_status import Standing
from assay.model.review import Review
from assay.model.scan import Scan
from assay.model.skill import Skill
from assay.model.verdict import Outcome, Path
from assay.serve.moderation.human_decisions import read_said
from assay.serve.skills.catalogue import find_any_listing, gone_skill
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans

BLOCKLISTED = "blocklisted"


class Answer(StrEnum):
    """The words."""

    PASS = "PASS"  # noqa: S105 - a word on a report
    FAIL = "FAIL"
    CERTIFIED = "CERTIFIED"
    PENDING = "PENDING"
    NOT_APPLICABLE = "NOT_APPLICABLE"


@dataclass(frozen=True, slots=True)
class Provider:
    """One that has looked. One that failed to look is pending, which is no verdict.

    `answer` is what it said, and `overruled` by whom that does not count: a reviewer, or a suppression.
    """

    name: str
    answer: Answer
    critical: int
    overruled: Path | None = None

    @property
    def status(self) -> Answer:
        """What it comes to for whoever is about to install it."""
        return Answer.PASS if self.overruled else self.answer


@dataclass(frozen=True)
class Security:
    """What all say together, and each of them."""

    skill: Skill
    overall: Answer
    providers: list[Provider]
    review: Review | None = None


async def read_security(db: AsyncConnection, name: str) -> Security:
    """Of a live listing; and of one that is blocked, because whoever asks is about to install it."""
    skill = await find_any_listing(db, name)
    if skill.standing is Standing.BLOCKED or (skill.remark is not None and skill.remark.code == BLOCKLISTED):
        return Security(skill, Answer.FAIL, [Provider("blocklist", Answer.FAIL, 1)])
    if skill.standing is not Standing.LIVE:
        raise gone_skill(skill)
    said = await read_said(db, skill.id, skill.content_digest, skill.tier)
    providers = _providers(await list_scans(db, skill.content_digest), said)
    deep = (await list_deep_scans(db, [skill.content_digest])).get(skill.content_digest, [])
    providers += [Provider(f"tier 3: {scan.tool}", _deep_answer(scan), _critical(scan.findings)) for scan in deep]
    overall = Answer.CERTIFIED if skill.tier.is_reviewed else Answer.PASS
    return Security(skill, overall, providers, said.review)


def _providers(scans: list[Scan], said: Said) -> list[Provider]:
    """The last scan of each tier and engine."""
    newest: dict[str, Scan] = {}
    for scan in scans:
        newest.setdefault(f"tier {scan.tier}: {scan.report.engine}", scan)
    return [
        Provider(name, _answer(scan), _critical(scan.report.findings), _overruled(scan, said))
        for name, scan in sorted(newest.items())
    ]


def _overruled(scan: Scan, said: Said) -> Path | None:
    """By whom a no was overruled. A yes need not be."""
    if scan.outcome is not Outcome.FAIL:
        return None
    if said.approval_of(scan.report) is not None:
        return Path.REVIEWED
    is_helped = any(said.suppression_of(finding) for finding in scan.report.findings)
    return Path.SUPPRESSED if is_helped else None


def _answer(scan: Scan) -> Answer:
    match scan.outcome:
        case Outcome.ERROR:
            return Answer.PENDING
        case Outcome.FAIL:
            return Answer.FAIL
        case Outcome.PASS | Outcome.CONCERNS:
            return Answer.PASS


def _deep_answer(scan: DeepScan) -> Answer:
    """It is live, so what was found did not take it down. A tool that failed, or has not run, has said nothing."""
    match scan.status:
        case DeepStatus.PENDING | DeepStatus.RUNNING | DeepStatus.ERROR:
            return Answer.PENDING
        case DeepStatus.NOT_APPLICABLE:
            return Answer.NOT_APPLICABLE
        case DeepStatus.CLEAN | DeepStatus.FINDINGS:
            return Answer.PASS


def _critical(findings: Sequence[Finding]) -> int:
    return sum(finding.severity is Severity.CRITICAL for finding in findings)
