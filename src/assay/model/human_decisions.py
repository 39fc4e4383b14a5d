"""What people have said about the bytes of a submission, and what that changes in a verdict. Pure."""

from dataclasses import dataclass, replace

from assay.model.finding import Finding, Report
from assay.model.review import Review, Ruling
from assay.model.submission import Reason
from assay.model.suppression import Suppression
from assay.model.verdict import Decision, Outcome, Path, Verdict

REJECTED = "review_rejected"
ASK_AGAIN = "Change what the reviewer names, then submit the skill again."


@dataclass(frozen=True, slots=True)
class Said:
    """The last review of these bytes, and the suppressions that are, or were, about their findings."""

    review: Review | None = None
    suppressions: tuple[Suppression, ...] = ()

    def heard(self, report: Report) -> Report:
        """The report as the policy weighs it: without what is suppressed."""
        open_findings = tuple(each for each in report.findings if self.suppression_of(each) is None)
        return report if len(open_findings) == len(report.findings) else replace(report, findings=open_findings)

    def suppression_of(self, finding: Finding) -> Suppression | None:
        """The suppression that holds for a finding."""
        return next((each for each in self.suppressions if each.holds and each.covers(finding)), None)

    def approval_of(self, report: Report) -> Review | None:
        """The reviewer's yes, if it is about everything that is known now."""
        review = self.review
        is_yes = review is not None and review.ruling is Ruling.APPROVED and review.covers(report)
        return review if is_yes else None

    def rejection_of(self, report: Report) -> Review | None:
        """The reviewer's no, which holds whatever else is known of these bytes."""
        review = self.review
        is_no = review is not None and review.ruling is Ruling.REJECTED and review.content_digest == report.digest
        return review if is_no else None

    def has_decided(self, report: Report) -> bool:
        """Whether a person's word settles it, so that nobody else need be asked."""
        return self.approval_of(report) is not None or self.rejection_of(report) is not None

    def overrule(self, verdict: Verdict, report: Report) -> Verdict:
        """The verdict after people were asked: theirs comes before the policy's.

        A finding that counts again after its suppression has ended is for a person to decide, as it was before.
        """
        review = self.rejection_of(report)
        if review is not None:
            said = rejection(review)
            return replace(verdict, outcome=Outcome.FAIL, decision=Decision.REFUSE, path=Path.REVIEWED, reason=said)
        if self.approval_of(report) is not None:
            return replace(verdict, decision=Decision.APPROVE, path=Path.REVIEWED, reason=None)
        if verdict.decision is Decision.APPROVE:
            is_helped = any(self.suppression_of(each) for each in report.findings)
            return replace(verdict, path=Path.SUPPRESSED) if is_helped else verdict
        counting = self.heard(report).findings
        ended = [each for each in self.suppressions if not each.holds and any(map(each.covers, counting))]
        if ended and verdict.reason is not None:
            message = f"{ended[-1].rule_id} in {ended[-1].file} is no longer suppressed. {verdict.reason.message}"
            reason = replace(verdict.reason, code="suppression_ended", message=message)
            return replace(verdict, decision=Decision.REVIEW, reason=reason)
        return verdict


def rejection(review: Review) -> Reason:
    """What the author reads of a reviewer's no."""
    return Reason(REJECTED, f"A reviewer has rejected it: {review.reason}", ASK_AGAIN)


NOTHING_SAID = Said()
