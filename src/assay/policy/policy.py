"""The policy: what findings mean, as a score, a word and a decision.

It is one table, of which the first row that holds decides; `docs/policy.md` shows the same rows.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from assay.model.finding import Finding, Report, Severity
from assay.model.judgement import ADDRESSED, TOO_LARGE, UNREAD, Judgement, Ruling
from assay.model.submission import Reason
from assay.model.verdict import Decision, Outcome, Path, Verdict

WEIGHTS: Mapping[Severity, int] = MappingProxyType(
    {Severity.CRITICAL: 25, Severity.HIGH: 15, Severity.MEDIUM: 8, Severity.LOW: 3, Severity.INFO: 0}
)
# A critical finding at least this sure is refused, however clean the rest of the skill is.
SURE = 0.9
# The family in which a scanner reports what it could not look at.
UNEXAMINED = "unexamined"
# So many passes of the judge that call something critical are no mistake of one.
AGREEING = 2
_NAMED_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """Where the lines are drawn, and whether there is a judge to ask."""

    fast_approve_threshold: int = 75
    publish_score: int = 80
    review_score: int = 50
    has_judge: bool = False


@dataclass(frozen=True)
class Case:
    """Everything a decision is made from."""

    policy: Policy
    # By the findings of the static scan alone.
    score: int
    has_code: bool
    # Where the static scan saw something critical, however unsure.
    critical: frozenset[tuple[str, str, int]]
    is_unexamined: bool
    judgement: Judgement | None
    # With what the judge refuted left out and what it found added.
    judged_score: int

    @property
    def integrity(self) -> frozenset[str]:
        """The ids of what is wrong with the judging itself."""
        return frozenset(finding.rule_id for finding in self.judgement.integrity) if self.judgement else frozenset()

    @property
    def has_confirmed_critical(self) -> bool:
        """Whether scanner and judge agree, or two passes of the judge do."""
        return self.judgement is not None and (
            any(self._ruling(key) is Ruling.CONFIRMED for key in self.critical)
            or len(_critical_passes(self.judgement)) >= AGREEING
        )

    @property
    def has_lone_critical(self) -> bool:
        """Whether the judge alone calls something critical, or does not know about what the scanner does."""
        return self.judgement is not None and (
            any(self._ruling(key) is not Ruling.REFUTED for key in self.critical)
            or bool(_critical_passes(self.judgement))
        )

    @property
    def is_addressed(self) -> bool:
        """Whether the skill speaks to its examiner."""
        return self.judgement is not None and any(each.rule_id == ADDRESSED for each in self.judgement.findings)

    def _ruling(self, key: tuple[str, str, int]) -> Ruling | None:
        """What the judge says to a finding; nothing to one that was left over."""
        assert self.judgement is not None
        return next((each.ruling for each in self.judgement.rulings if each.key == key), None)


@dataclass(frozen=True)
class Row:
    """One line of the table. No decision means that the judge is asked first."""

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
        "the static score is below 50, as with any critical finding that is sure",
        lambda case: case.score < case.policy.review_score,
        Decision.REFUSE,
    ),
    Row(
        "could_not_be_examined",
        "a rule of the static scan could not be tried",
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
        "the judge was not asked, the skill has code files, the static score is above the threshold (75), and no "
        "finding is critical, however unsure",
        lambda case: (
            case.judgement is None
            and case.has_code
            and case.score > case.policy.fast_approve_threshold
            and not case.critical
        ),
        Decision.APPROVE,
        Path.FAST_APPROVE,
    ),
    Row("ask", "the judge was not asked", lambda case: case.judgement is None, None),
    Row(
        "judge_unavailable",
        "the judge has failed for longer than one waits for it",
        _judged(lambda case: case.judgement is not None and case.judgement.problem is not None),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_too_large",
        "the skill has more text than a model is given to read",
        _judged(lambda case: TOO_LARGE in case.integrity),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_unread",
        "the judge shows no receipt for something that it was shown",
        _judged(lambda case: UNREAD in case.integrity),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_steered",
        "the judge did not return the canary, or did not report the control; or the skill speaks to its examiner",
        _judged(lambda case: bool(case.integrity) or case.is_addressed),
        Decision.REVIEW,
        Path.JUDGED,
    ),
    Row(
        "judge_confirmed",
        "a critical finding of the static scan is confirmed, or two passes of the judge call something critical",
        _judged(lambda case: case.has_confirmed_critical),
        Decision.REFUSE,
        Path.JUDGED,
    ),
    Row(
        "judge_unsure",
        "one pass calls something critical, or a critical finding of the static scan is not refuted",
        _judged(lambda case: case.has_lone_critical),
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


def weigh(report: Report, policy: Policy, judgement: Judgement | None = None) -> Verdict | None:
    """Weigh what was found: publish, ask a person, or refuse, with a reason for everything but the first.

    None says that the judge has to be asked before anything can be said.
    """
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


def judge_report(report: Report, policy: Policy) -> Verdict:
    """The same by the static scan alone, whether or not there is a judge."""
    verdict = weigh(report, replace(policy, has_judge=False))
    assert verdict is not None
    return verdict


_OUTCOMES = {Decision.APPROVE: Outcome.PASS, Decision.REVIEW: Outcome.CONCERNS, Decision.REFUSE: Outcome.FAIL}


class FollowUp(StrEnum):
    """What becomes of a version that is out when its content is weighed again."""

    CERTIFY = "certify"
    KEEP = "keep"
    YANK = "yank"
    WITHDRAW = "withdraw"


def follow_up(verdict: Verdict, *, was_fast_approved: bool) -> FollowUp:
    """A good verdict is certified. What the judge confirms is withdrawn. What was let out before it was looked at is
    taken back until a person has looked, and so is what new rules refuse; otherwise the version stays meanwhile.
    """
    if verdict.decision is Decision.APPROVE:
        return FollowUp.CERTIFY
    if verdict.reason is not None and verdict.reason.code == "judge_confirmed":
        return FollowUp.WITHDRAW
    if verdict.decision is Decision.REFUSE or was_fast_approved:
        return FollowUp.YANK
    return FollowUp.KEEP


def case_of(report: Report, policy: Policy, judgement: Judgement | None) -> Case:
    """The facts of a decision."""
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
    """What counts after the judge has spoken: what it refuted does not, what it found does."""
    if judgement is None:
        return list(report.findings)
    refuted = {each.key for each in judgement.rulings if each.ruling is Ruling.REFUTED}
    kept = [finding for finding in report.findings if _key(finding) not in refuted]
    return kept + [finding for finding in judgement.findings if finding not in judgement.integrity]


def _key(finding: Finding) -> tuple[str, str, int]:
    return finding.rule_id, finding.file, finding.line


def _critical_passes(judgement: Judgement) -> set[str]:
    return {each.family for each in judgement.findings if each.severity is Severity.CRITICAL}


def _shown_score(case: Case, row: Row) -> int:
    """The score that goes with a decision: a person who looks must not see a number that would have published it."""
    score = case.judged_score if row.path is Path.JUDGED else case.score
    match row.decision:
        case Decision.REFUSE:
            return min(score, case.policy.review_score - 1)
        case Decision.REVIEW:
            return max(case.policy.review_score, min(score, case.policy.publish_score - 1))
        case _:
            return score


def _worst_of_each_rule(findings: Iterable[Finding]) -> list[Finding]:
    """The surest finding of each rule, heaviest first: a rule counts once, however often it matched."""
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
    if any(finding.severity is Severity.CRITICAL and finding.confidence >= SURE for finding in worst):
        return min(score, policy.review_score - 1)
    return score


def _named(report: Report, judgement: Judgement | None) -> list[Finding]:
    """What a reason names: first what is wrong with the judging, then the rest by weight."""
    if judgement is None:
        return _worst_of_each_rule(report.findings)
    open_findings = _worst_of_each_rule(_open_findings(report, judgement))
    return [*judgement.integrity, *open_findings]


def _reason(row: Row, findings: list[Finding], score: int, judgement: Judgement | None) -> Reason:
    if row.code == "judge_unavailable":
        assert judgement is not None
        said = f"The judge could not be asked: {judgement.problem}"
        return Reason(row.code, said, "Nothing is wrong with the skill. A reviewer will look at it.")
    named = "; ".join(
        f"{finding.rule_id} in {finding.file} line {finding.line}: {finding.message}"
        for finding in findings[:_NAMED_IN_REASON]
    )
    more = len(findings) - _NAMED_IN_REASON
    rest = f"; and {more} more" if more > 0 else ""
    if row.decision is Decision.REVIEW:
        next_step = "A reviewer will look at it. To be published without one, address the findings and submit again."
    else:
        remedy = findings[0].remediation if findings else "Address the findings."
        next_step = f"{remedy} Then submit the skill again."
    return Reason(row.code, f"Scored {score} of 100. {named}{rest}.", next_step)
