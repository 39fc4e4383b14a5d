"""The policy: what the findings of a static scan mean, as a score, a word and a decision."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.model.finding import Finding, Report, Severity
from assay.model.submission import Reason
from assay.model.verdict import Decision, Outcome, Verdict

WEIGHTS: Mapping[Severity, int] = MappingProxyType(
    {Severity.CRITICAL: 25, Severity.HIGH: 15, Severity.MEDIUM: 8, Severity.LOW: 3, Severity.INFO: 0}
)
# A critical finding at least this sure is refused, however clean the rest of the skill is.
SURE = 0.9
# The family in which a scanner reports what it could not look at.
UNEXAMINED = "unexamined"
_NAMED_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """Where the lines are drawn.

    `fast_approve_threshold` only takes effect once an LLM judge exists: a skill with code that scores above it then
    need not wait for the model. Without one every verdict is static, and the two scores below decide alone.
    """

    fast_approve_threshold: int = 75
    publish_score: int = 80
    review_score: int = 50


def judge_report(report: Report, policy: Policy) -> Verdict:
    """Weigh a report: publish, ask a person, or refuse, with a reason for everything but the first."""
    worst = _worst_of_each_rule(report)
    score = _score(worst, policy)
    outcome, decision = _decide(score, policy)
    reason = None if decision is Decision.APPROVE else _reason(worst, score, decision)
    return Verdict(score=score, outcome=outcome, decision=decision, path="static-only", reason=reason)


def _worst_of_each_rule(report: Report) -> list[Finding]:
    """The surest finding of each rule, heaviest first: a rule counts once, however often it matched."""
    surest: dict[str, Finding] = {}
    for finding in report.findings:
        known = surest.get(finding.rule_id)
        if known is None or finding.confidence > known.confidence:
            surest[finding.rule_id] = finding
    return sorted(surest.values(), key=lambda finding: (-_deduction(finding), finding.rule_id))


def _deduction(finding: Finding) -> float:
    return WEIGHTS[finding.severity] * finding.confidence


def _score(worst: list[Finding], policy: Policy) -> int:
    score = max(0, round(100 - sum(_deduction(finding) for finding in worst)))
    if any(finding.severity is Severity.CRITICAL and finding.confidence >= SURE for finding in worst):
        return min(score, policy.review_score - 1)
    # A rule that failed says nothing against the skill, and nothing for it either: a person looks.
    if any(finding.family == UNEXAMINED for finding in worst):
        return min(score, policy.publish_score - 1)
    return score


def _decide(score: int, policy: Policy) -> tuple[Outcome, Decision]:
    if score >= policy.publish_score:
        return Outcome.PASS, Decision.APPROVE
    if score >= policy.review_score:
        return Outcome.CONCERNS, Decision.REVIEW
    return Outcome.FAIL, Decision.REFUSE


def _reason(worst: list[Finding], score: int, decision: Decision) -> Reason:
    named = "; ".join(
        f"{finding.rule_id} in {finding.file} line {finding.line}: {finding.message}"
        for finding in worst[:_NAMED_IN_REASON]
    )
    more = len(worst) - _NAMED_IN_REASON
    rest = f"; and {more} more" if more > 0 else ""
    if decision is Decision.REVIEW:
        unexamined = any(finding.family == UNEXAMINED for finding in worst)
        code = "could_not_be_examined" if unexamined else "tier1_concerns"
        next_step = "A reviewer will look at it. To be published without one, address the findings and submit again."
    else:
        code = "tier1_findings"
        next_step = f"{worst[0].remediation} Then submit the skill again."
    return Reason(code, f"Scored {score} of 100. {named}{rest}.", next_step)
