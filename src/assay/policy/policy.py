"""The policy: the pure function from findings and judgement to a verdict.

It is one table, and the first row that applies decides. `docs/policy.md` shows the same rows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from assay.model.finding import Finding, Report, Severity
from assay.model.submission import Reason
from assay.model.verdict import ADDRESSED, TOO_LARGE, UNREAD, Decision, Judgement, Outcome, Path, Ruling, Verdict

WEIGHTS: Mapping[Severity, int] = MappingProxyType(
    {Severity.CRITICAL: 25, Severity.HIGH: 15, Severity.MEDIUM: 8, Severity.LOW: 3, Severity.INFO: 0}
)
# A critical finding with at least this confidence is refused, however clean the rest of the skill is.
HIGH_CONFIDENCE = 0.9
# The family of findings for content that the scanner could not examine.
UNEXAMINED = "unexamined"
# This many passes of the judge that agree on a critical finding are not one model's mistake.
AGREEING_PASSES = 2
_NAMED_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """The thresholds of the policy, and whether a judge is configured."""

    fast_approve_threshold: int = 75
    publish_score: int = 80
    review_score: int = 50
    has_judge: bool = False


@dataclass(frozen=True)
class Case:
    """The facts that a decision is based on."""

    policy: Policy
    # The score of the static findings alone.
    score: int
    has_code: bool
    # Keys of the critical static findings, regardless of confidence.
    critical: frozenset[tuple[str, str, int]]
    is_unexamined: bool
    judgement: Judgement | None
    # The score without refuted findings and with those of the judge.
    judged_score: int

    @property
    def integrity(self) -> frozenset[str]:
        """Rule ids of the integrity failures of the judgement, such as a missing canary."""
        return frozenset(finding.rule_id for finding in self.judgement.integrity) if self.judgement else frozenset()

    @property
    def has_confirmed_critical(self) -> bool:
        """True if scanner and judge agree on a critical finding, or two passes of the judge do."""
        return self.judgement is not None and (
            any(self._ruling(key) is Ruling.CONFIRMED for key in self.critical)
            or len(_critical_passes(self.judgement)) >= AGREEING_PASSES
        )

    @property
    def has_unconfirmed_critical(self) -> bool:
        """True if only the judge reports a critical finding, or it did not refute one of the scanner's."""
        return self.judgement is not None and (
            any(self._ruling(key) is not Ruling.REFUTED for key in self.critical)
            or bool(_critical_passes(self.judgement))
        )

    @property
    def addresses_examiner(self) -> bool:
        """True if the skill addresses its examiner."""
        return self.judgement is not None and any(each.rule_id == ADDRESSED for each in self.judgement.findings)

    def _ruling(self, key: tuple[str, str, int]) -> Ruling | None:
        """Return the judge's ruling on a finding; None if it made none."""
        assert self.judgement is not None
        return next((each.ruling for each in self.judgement.rulings if each.key == key), None)


@dataclass(frozen=True)
class Row:
    """One row of the table. Without a decision, the judge has to run first."""

    code: str
    when: str
    holds: Callable[[Case], bool]
    decision: Decision | None
    path: Path = Path.STATIC


def _judged(test: Callable[[Case], bool]) -> Callable[[Case], bool]:
    return lambda case: case.judgement is not None and test(case)


TABLE: tuple[Row, ...] = (
    Row(
        "tier1_findings",
        "the static score is below 50, which includes any critical finding with high confidence",
        lambda case: case.score < case.policy.review_score,
        Decision.REFUSE,
    ),
    Row(
        "could_not_be_examined",
        "the static scan could not examine everything",
        lambda case: case.is_unexamined,
        Decision.REVIEW,
    ),
    Row(
        "static_pass",
        "there is no judge, and the static score is 80 or more",
        lambda case: not case.policy.has_judge and case.score >= case.policy.publish_score,
        Decision.APPROVE,
    ),
    Row(
        "tier1_concerns",
        "there is no judge, and the static score is 50 to 79",
        lambda case: not case.policy.has_judge,
        Decision.REVIEW,
    ),
    Row(
        "fast_approve",
        "the judge has not run, the skill has code files, the static score is above the threshold (75), and there is "
        "no critical finding of any confidence",
        lambda case: (
            case.judgement is None
            and case.has_code
            and case.score > case.policy.fast_approve_threshold
            and not case.critical
        ),
        Decision.APPROVE,
        Path.FAST_APPROVE,
    ),
    Row("ask", "the judge has not run", lambda case: case.judgement is None, None),
    Row(
        "judge_unavailable",
        "the judge has been unavailable for longer than the maximum wait",
        _judged(lambda case: case.judgement is not None and case.judgement.problem is not None),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_too_large",
        "the skill has more text than the judge accepts",
        _judged(lambda case: TOO_LARGE in case.integrity),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_unread",
        "the judge did not return the receipt of every part that it was given",
        _judged(lambda case: UNREAD in case.integrity),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_steered",
        "the judge did not return the canary or did not report the control, or the skill addresses its examiner",
        _judged(lambda case: bool(case.integrity) or case.addresses_examiner),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_confirmed",
        "the judge confirms a critical static finding, or two of its passes report a critical finding",
        _judged(lambda case: case.has_confirmed_critical),
        Decision.REFUSE,
        Path.JUDGED,
    ),
    Row(
        "judge_unsure",
        "one pass reports a critical finding, or a critical static finding is not refuted",
        _judged(lambda case: case.has_unconfirmed_critical),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_findings",
        "the judged score is below 50",
        _judged(lambda case: case.judged_score < case.policy.review_score),
        Decision.REFUSE,
        Path.JUDGED,
    ),
    Row(
        "judge_concerns",
        "the judged score is 50 to 79",
        _judged(lambda case: case.judged_score < case.policy.publish_score),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row("judged_pass", "otherwise", lambda _: True, Decision.APPROVE, Path.JUDGED),
)


def decide_verdict(report: Report, policy: Policy, judgement: Judgement | None = None) -> Verdict | None:
    """Return the verdict, with a reason unless it approves. None means that the judge has to run first."""
    case = case_of(report, policy, judgement)
    row = next(row for row in TABLE if row.holds(case))
    if row.decision is None:
        return None
    score = _shown_score(case, row)
    outcome = _OUTCOMES[row.decision]
    if row.decision is Decision.APPROVE:
        return Verdict(score, outcome, row.decision, row.path, None)
    findings = _named(report, judgement)
    return Verdict(score, outcome, row.decision, row.path, _reason(row, findings, score, judgement))


def static_verdict(report: Report, policy: Policy) -> Verdict:
    """Return the verdict of the static scan alone, whether or not a judge is configured."""
    verdict = decide_verdict(report, replace(policy, has_judge=False))
    assert verdict is not None
    return verdict


_OUTCOMES = {Decision.APPROVE: Outcome.PASS, Decision.REVIEW: Outcome.CONCERNS, Decision.REFUSE: Outcome.FAIL}


class FollowUp(StrEnum):
    """The action on a published version whose content was assessed again."""

    CERTIFY = "certify"
    KEEP = "keep"
    YANK = "yank"
    WITHDRAW = "withdraw"


def follow_up(verdict: Verdict, *, was_fast_approved: bool) -> FollowUp:
    """Choose the action on a published version: certify it if approved, withdraw it if the judge confirmed a critical
    finding, yank it if refused or if it was published before the judge ran, and otherwise keep it until a review.
    """
    if verdict.decision is Decision.APPROVE:
        return FollowUp.CERTIFY
    if verdict.reason is not None and verdict.reason.code == "judge_confirmed":
        return FollowUp.WITHDRAW
    if verdict.decision is Decision.REFUSE or was_fast_approved:
        return FollowUp.YANK
    return FollowUp.KEEP


def case_of(report: Report, policy: Policy, judgement: Judgement | None) -> Case:
    return Case(
        policy=policy,
        score=_score(report.findings, policy),
        has_code=report.has_code,
        critical=frozenset(_key(each) for each in report.findings if each.severity is Severity.CRITICAL),
        is_unexamined=any(finding.family == UNEXAMINED for finding in report.findings),
        judgement=judgement,
        judged_score=_score(_open_findings(report, judgement), policy),
    )


def _open_findings(report: Report, judgement: Judgement | None) -> list[Finding]:
    """Return the findings that count after the judgement: without refuted ones, with those of the judge."""
    if judgement is None:
        return list(report.findings)
    refuted = {each.key for each in judgement.rulings if each.ruling is Ruling.REFUTED}
    remaining = [finding for finding in report.findings if _key(finding) not in refuted]
    return remaining + [finding for finding in judgement.findings if finding not in judgement.integrity]


def _key(finding: Finding) -> tuple[str, str, int]:
    return finding.rule_id, finding.file, finding.line


def _critical_passes(judgement: Judgement) -> set[str]:
    return {each.family for each in judgement.findings if each.severity is Severity.CRITICAL}


def _shown_score(case: Case, row: Row) -> int:
    """Return the score to show: limited to the range of the decision, so that a score never contradicts it."""
    score = case.judged_score if row.path is Path.JUDGED else case.score
    match row.decision:
        case Decision.REFUSE:
            return min(score, case.policy.review_score - 1)
        case Decision.REVIEW:
            return max(case.policy.review_score, min(score, case.policy.publish_score - 1))
        case _:
            return score


def _worst_of_each_rule(findings: Iterable[Finding]) -> list[Finding]:
    """Return the weightiest finding of each rule, in order of weight: a rule counts once, however often it matched."""
    surest: dict[str, Finding] = {}
    for finding in findings:
        known = surest.get(finding.rule_id)
        if known is None or _deduction(finding) > _deduction(known):
            surest[finding.rule_id] = finding
    return sorted(surest.values(), key=lambda finding: (-_deduction(finding), finding.rule_id))


def _deduction(finding: Finding) -> float:
    return WEIGHTS[finding.severity] * finding.confidence


def _score(findings: Iterable[Finding], policy: Policy) -> int:
    worst = _worst_of_each_rule(findings)
    score = max(0, round(100 - sum(_deduction(finding) for finding in worst)))
    if any(finding.severity is Severity.CRITICAL and finding.confidence >= HIGH_CONFIDENCE for finding in worst):
        return min(score, policy.review_score - 1)
    return score


def _named(report: Report, judgement: Judgement | None) -> list[Finding]:
    """Return the findings that a reason names: integrity failures of the judge first, then the rest by weight."""
    if judgement is None:
        return _worst_of_each_rule(report.findings)
    open_findings = _worst_of_each_rule(_open_findings(report, judgement))
    return [*judgement.integrity, *open_findings]


def _reason(row: Row, findings: list[Finding], score: int, judgement: Judgement | None) -> Reason:
    if row.code == "judge_unavailable":
        assert judgement is not None
        message = f"The judge was unavailable: {judgement.problem}"
        return Reason(row.code, message, "This is not a problem with the skill. A reviewer will decide.")
    named = "; ".join(
        f"{finding.rule_id} in {finding.file} line {finding.line}: {finding.message}"
        for finding in findings[:_NAMED_IN_REASON]
    )
    more = len(findings) - _NAMED_IN_REASON
    rest = f"; and {more} more" if more > 0 else ""
    if row.decision is Decision.REVIEW:
        next_step = "A reviewer will decide. To be published without a review, fix the findings and submit again."
    else:
        remedy = findings[0].remediation if findings else "Fix the findings."
        next_step = f"{remedy} Then submit the skill again."
    return Reason(row.code, f"Scored {score} of 100. {named}{rest}.", next_step)
