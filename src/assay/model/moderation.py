"""Decisions by people: reviews, suppressions, appeals and security reports."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.blocklist import Threat
from assay.model.finding import Finding, Report
from assay.model.submission import Reason
from assay.model.verdict import Decision, Outcome, Path, Verdict

MIN_STATEMENT_LENGTH, MAX_STATEMENT_LENGTH = 10, 4_000


class AppealStatus(StrEnum):
    """The status of an appeal."""

    OPEN = "open"
    GRANTED = "granted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Appeal:
    """An author's request that a person review a refusal; at most one per content. `text` is untrusted."""

    id: UUID
    submission_id: UUID
    content_digest: str
    text: str
    appellant: str
    created_at: datetime
    status: AppealStatus = AppealStatus.OPEN
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None


class ReportOutcome(StrEnum):
    """The outcome of a security report."""

    DISMISSED = "dismissed"
    WITHDRAWN = "withdrawn"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class SecurityReport:
    """A message that a listing is harmful. Only administrators see the reporter, who keeps the id as a receipt."""

    id: UUID
    skill_id: UUID
    skill_name: str
    version: str
    content_digest: str
    category: Threat
    text: str
    reporter: str | None
    created_at: datetime
    outcome: ReportOutcome | None = None
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None


class ReviewDecision(StrEnum):
    """The decision of a reviewer."""

    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewer's decision about one skill's content, limited to the findings that were `seen`."""

    ruling: ReviewDecision
    reason: str
    reviewer: str
    content_digest: str
    seen: frozenset[str]
    at: datetime

    def covers(self, report: Report) -> bool:
        """Return whether the reviewer saw every finding of the report."""
        return self.content_digest == report.digest and all(finding_key(each) in self.seen for each in report.findings)


def finding_key(finding: Finding) -> str:
    """Return the key under which a review remembers a finding: rule and file, without the line."""
    return f"{finding.rule_id} {finding.file}"


class SuppressionScope(StrEnum):
    """The scope of a suppression: the same content in any listing, or one skill across versions."""

    CONTENT = "content"
    SKILL = "skill"


@dataclass(frozen=True, slots=True)
class Suppression:
    """A finding (one rule in one file) excluded until a date. With the scope SKILL it covers only the `excerpts` that
    the rule matched when it was created; other matches of the rule still count.
    """

    id: UUID
    scope: SuppressionScope
    rule_id: str
    file: str
    repository_id: int
    skill_path: str
    content_digest: str
    excerpts: tuple[str, ...]
    until: datetime
    reason: str
    by: str
    created_at: datetime
    ended_at: datetime | None = None
    ended_by: str | None = None
    ended_reason: str | None = None

    @property
    def is_active(self) -> bool:
        """Return whether it was neither lifted nor has expired."""
        return self.ended_at is None

    def applies_to(self, digest: str, repository_id: int, skill_path: str) -> bool:
        if self.scope is SuppressionScope.CONTENT:
            return self.content_digest == digest
        return (self.repository_id, self.skill_path) == (repository_id, skill_path)

    def covers(self, finding: Finding) -> bool:
        if (finding.rule_id, finding.file) != (self.rule_id, self.file):
            return False
        return self.scope is SuppressionScope.CONTENT or finding.excerpt in self.excerpts


REJECTED = "review_rejected"
RESUBMIT_STEP = "Change what the reviewer names, then submit the skill again."


@dataclass(frozen=True, slots=True)
class HumanDecisions:
    """The latest review of some content, and the active and ended suppressions of its findings."""

    review: Review | None = None
    suppressions: tuple[Suppression, ...] = ()

    def without_suppressed(self, report: Report) -> Report:
        """Return the report without suppressed findings; the same object if none is suppressed."""
        open_findings = tuple(each for each in report.findings if self.suppression_of(each) is None)
        return report if len(open_findings) == len(report.findings) else replace(report, findings=open_findings)

    def suppression_of(self, finding: Finding) -> Suppression | None:
        """Return the active suppression of a finding."""
        return next((each for each in self.suppressions if each.is_active and each.covers(finding)), None)

    def approval_of(self, report: Report) -> Review | None:
        """Return the approval if the reviewer saw every finding of the report."""
        review = self.review
        is_approval = review is not None and review.ruling is ReviewDecision.APPROVED and review.covers(report)
        return review if is_approval else None

    def rejection_of(self, report: Report) -> Review | None:
        """Return the rejection of this content; new findings do not affect it."""
        review = self.review
        is_rejection = (
            review is not None and review.ruling is ReviewDecision.REJECTED and review.content_digest == report.digest
        )
        return review if is_rejection else None

    def has_decided(self, report: Report) -> bool:
        """Return whether a review settles the verdict, so that the judge is not needed."""
        return self.approval_of(report) is not None or self.rejection_of(report) is not None

    def apply_to(self, verdict: Verdict, report: Report) -> Verdict:
        """Return the verdict after human decisions, which override the policy.

        A refusal because of a finding whose suppression has ended becomes a review: a person decided about it before.
        """
        review = self.rejection_of(report)
        if review is not None:
            reason = rejection_reason(review)
            return replace(verdict, outcome=Outcome.FAIL, decision=Decision.REFUSE, path=Path.REVIEWED, reason=reason)
        if self.approval_of(report) is not None:
            return replace(verdict, decision=Decision.APPROVE, path=Path.REVIEWED, reason=None)
        if verdict.decision is Decision.APPROVE:
            has_suppressed = any(self.suppression_of(each) for each in report.findings)
            return replace(verdict, path=Path.SUPPRESSED) if has_suppressed else verdict
        open_findings = self.without_suppressed(report).findings
        ended = [each for each in self.suppressions if not each.is_active and any(map(each.covers, open_findings))]
        if ended and verdict.reason is not None:
            message = f"{ended[-1].rule_id} in {ended[-1].file} is no longer suppressed. {verdict.reason.message}"
            reason = replace(verdict.reason, code="suppression_ended", message=message)
            return replace(verdict, decision=Decision.REVIEW, reason=reason)
        return verdict


def rejection_reason(review: Review) -> Reason:
    return Reason(REJECTED, f"A reviewer rejected this skill: {review.reason}", RESUBMIT_STEP)


NO_DECISIONS = HumanDecisions()
