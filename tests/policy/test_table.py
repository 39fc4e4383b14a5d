"""The policy table with a judge."""

from dataclasses import replace
from pathlib import Path as File

import pytest
from docs.policy import policy_table

from assay.model.finding import Finding, Report, Severity
from assay.model.verdict import (
    ADDRESSED,
    INTEGRITY,
    STEERED,
    TOO_LARGE,
    UNREAD,
    Decision,
    FindingRuling,
    Judgement,
    Path,
    Ruling,
    Usage,
)
from assay.policy.policy import TABLE, FollowUp, Policy, decide_verdict, follow_up, static_verdict
from tests.support.findings import a_finding, a_report, deducting

POLICY = Policy(has_judge=True)


def a_judgement(*findings: Finding, rulings: tuple[FindingRuling, ...] = (), problem: str | None = None) -> Judgement:
    return Judgement("llm/m", "sha256:0", "sha256:1", findings, rulings, "m", Usage(), 1.0, problem)


def said(rule_id: str, family: str = "judge_code", severity: Severity = Severity.CRITICAL) -> Finding:
    return a_finding(rule_id, severity, 0.95, family=family)


def ruled(ruling: Ruling, finding: Finding) -> FindingRuling:
    return FindingRuling(finding.rule_id, finding.file, finding.line, ruling, "because")


@pytest.mark.parametrize(("score", "path"), [(74, None), (75, None), (76, Path.FAST_APPROVE), (100, Path.FAST_APPROVE)])
def test_fast_approval_is_strictly_above_the_threshold(score: int, path: Path | None) -> None:
    """G42."""
    verdict = decide_verdict(deducting(100 - score), POLICY)
    assert (verdict.path if verdict else None) == path
    if verdict:
        assert (verdict.decision, verdict.score) == (Decision.APPROVE, score)


def test_fast_approval_threshold_is_a_setting() -> None:
    """G42."""
    assert decide_verdict(deducting(20), replace(POLICY, fast_approve_threshold=85)) is None
    assert decide_verdict(deducting(14), replace(POLICY, fast_approve_threshold=85)).path is Path.FAST_APPROVE


def test_prompt_only_skills_and_criticals_are_never_fast_approved() -> None:
    """G42."""
    assert decide_verdict(replace(a_report(), has_code=False), POLICY) is None
    assert decide_verdict(a_report(a_finding(confidence=0.05)), POLICY) is None


CRITICAL = a_finding(confidence=0.5)
JUDGED: dict[str, tuple[Report, Judgement, str, Decision]] = {
    "nothing found": (a_report(), a_judgement(), "", Decision.APPROVE),
    "the critical is refuted": (
        a_report(CRITICAL),
        a_judgement(rulings=(ruled(Ruling.REFUTED, CRITICAL),)),
        "",
        Decision.APPROVE,
    ),
    "the critical is confirmed": (
        a_report(CRITICAL),
        a_judgement(rulings=(ruled(Ruling.CONFIRMED, CRITICAL),)),
        "judge_confirmed",
        Decision.REFUSE,
    ),
    "nobody knows": (
        a_report(CRITICAL),
        a_judgement(rulings=(ruled(Ruling.UNSURE, CRITICAL),)),
        "judge_unsure",
        Decision.REVIEW,
    ),
    "one of two places was not asked about": (
        a_report(CRITICAL, replace(CRITICAL, line=90)),
        a_judgement(rulings=(ruled(Ruling.REFUTED, CRITICAL),)),
        "judge_unsure",
        Decision.REVIEW,
    ),
    "one pass alone": (a_report(), a_judgement(said("judge-data-theft")), "judge_unsure", Decision.REVIEW),
    "two passes agree": (
        a_report(),
        a_judgement(said("judge-data-theft"), said("judge-concealment", "judge_instructions")),
        "judge_confirmed",
        Decision.REFUSE,
    ),
    "much that is less": (
        a_report(),
        a_judgement(*(said(f"judge-{n}", severity=Severity.HIGH) for n in range(4))),
        "judge_findings",
        Decision.REFUSE,
    ),
    "some of it": (
        a_report(),
        a_judgement(*(said(f"judge-{n}", severity=Severity.HIGH) for n in range(2))),
        "judge_concerns",
        Decision.REVIEW,
    ),
    "steered": (a_report(), a_judgement(said(STEERED, INTEGRITY)), "judge_steered", Decision.REVIEW),
    "unread": (a_report(), a_judgement(said(UNREAD, INTEGRITY)), "judge_unread", Decision.REVIEW),
    "too large": (a_report(), a_judgement(said(TOO_LARGE, INTEGRITY)), "judge_too_large", Decision.REVIEW),
    "it speaks to us": (
        a_report(),
        a_judgement(said(ADDRESSED, severity=Severity.HIGH)),
        "judge_steered",
        Decision.REVIEW,
    ),
    "the judge is away": (a_report(), a_judgement(problem="down"), "judge_unavailable", Decision.REVIEW),
    "the static scan is sure": (
        a_report(a_finding(confidence=0.95)),
        a_judgement(rulings=(ruled(Ruling.REFUTED, a_finding()),)),
        "tier1_findings",
        Decision.REFUSE,
    ),
}


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_judge_decides_by_the_table(name: str) -> None:
    report, judgement, code, decision = JUDGED[name]
    verdict = decide_verdict(report, POLICY, judgement)
    assert verdict is not None
    assert (verdict.decision, verdict.reason.code if verdict.reason else "") == (decision, code)
    low, high = {Decision.APPROVE: (80, 100), Decision.REVIEW: (50, 79), Decision.REFUSE: (0, 49)}[decision]
    assert low <= verdict.score <= high


def test_every_row_is_reached() -> None:
    reports = [deducting(100 - score) for score in (100, 60, 30)]
    reports += [a_report(a_finding("UX", Severity.INFO, family="unexamined")), replace(a_report(), has_code=False)]
    reached = {code for _, _, code, _ in JUDGED.values()} | {"judged_pass"}
    for report in reports:
        for policy in (Policy(), POLICY):
            verdict = decide_verdict(report, policy)
            reached.add("ask" if verdict is None else verdict.reason.code if verdict.reason else verdict.path)
    names = {Path.STATIC: "static_pass", Path.FAST_APPROVE: "fast_approve"}
    assert {row.code for row in TABLE} == {names.get(each, each) for each in reached if each}


def test_policy_without_a_judge() -> None:
    """80 publishes, 50 to 79 is reviewed, less fails."""
    for score in range(0, 101):
        report = deducting(100 - score)
        assert decide_verdict(report, Policy()) == static_verdict(report, POLICY) == static_verdict(report, Policy())


@pytest.mark.parametrize(
    ("name", "fast", "action"),
    [
        ("nothing found", True, FollowUp.CERTIFY),
        ("the critical is confirmed", False, FollowUp.WITHDRAW),
        ("two passes agree", True, FollowUp.WITHDRAW),
        ("some of it", True, FollowUp.YANK),
        ("some of it", False, FollowUp.KEEP),
        ("much that is less", False, FollowUp.YANK),
        ("steered", True, FollowUp.YANK),
        ("the static scan is sure", False, FollowUp.YANK),
    ],
)
def test_follow_up_of_a_published_version(name: str, fast: bool, action: FollowUp) -> None:
    """confirmed is withdrawn, fast-approved concerns are yanked, the rest stays."""
    report, judgement, _, _ = JUDGED[name]
    verdict = decide_verdict(report, POLICY, judgement)
    assert verdict is not None
    assert follow_up(verdict, was_fast_approved=fast) is action


def test_documentation_shows_the_table() -> None:
    assert policy_table() in (File(__file__).parents[2] / "docs" / "policy.md").read_text()
