"""Validation of model answers against their briefs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from assay.llm.passes import MAX_FINDINGS, MAX_REASON_LENGTH
from assay.llm.prompt import Brief, findings_to_ask
from assay.model.finding import Finding, Report, Severity
from assay.model.verdict import (
    ADDRESSED,
    INTEGRITY,
    STEERED,
    TOO_LARGE,
    UNREAD,
    FindingRuling,
    Judgement,
    Ruling,
)

MAX_STRING_LENGTH = 4_000
Text = Annotated[str, msgspec.Meta(max_length=MAX_STRING_LENGTH)]
Number = Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]


class BadAnswer(Exception):
    """The response is not a valid answer to the brief."""


class _Receipt(msgspec.Struct, forbid_unknown_fields=True):
    part: Number
    receipt: Text


class _AnswerFinding(msgspec.Struct, forbid_unknown_fields=True):
    file: Number
    line: Number
    kind: Text
    severity: Literal["critical", "high", "medium", "low"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: Text


class _AnswerRuling(msgspec.Struct, forbid_unknown_fields=True):
    question: Number
    ruling: Ruling
    reason: Text


class _ModelAnswer(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    canary: Text
    receipts: Annotated[list[_Receipt], msgspec.Meta(max_length=2_000)]
    findings: Annotated[list[_AnswerFinding], msgspec.Meta(max_length=200)]
    rulings: Annotated[list[_AnswerRuling], msgspec.Meta(max_length=200)]
    addresses_the_reviewer: bool


@dataclass(frozen=True)
class CheckedAnswer:
    """The findings and rulings of an answer, with the skill's file names."""

    findings: tuple[Finding, ...]
    rulings: tuple[FindingRuling, ...]


def check_answer(text: str, brief: Brief) -> CheckedAnswer:
    """Parse an answer. Raises BadAnswer if it is invalid; a manipulated or inattentive model becomes a finding."""
    try:
        answer = msgspec.json.decode(text, type=_ModelAnswer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        # The error may quote the model's text.
        raise BadAnswer(f"it does not match the schema: {plain(str(error))[:200]}") from None
    for found in answer.findings:
        if found.kind not in brief.judge_pass.kinds:
            raise BadAnswer(f"it reports the unknown kind {found.kind[:50]!r}")
        if not 1 <= found.file <= len(brief.chunks):
            raise BadAnswer(f"it reports part {found.file}, which does not exist")
    if sorted(ruled.question for ruled in answer.rulings) != [each.number for each in brief.questions]:
        raise BadAnswer("it does not answer each question exactly once")
    if not all(plain(ruled.reason) for ruled in answer.rulings):
        raise BadAnswer("it has a ruling without a reason")
    problems = _integrity(answer, brief)
    findings = [] if problems else _findings(answer, brief)
    return CheckedAnswer((*problems, *findings), _rulings(answer, brief, is_trusted=not problems))


def too_large() -> Finding:
    """Return the finding for a skill with more text than the judge reads."""
    return _problem(TOO_LARGE, "SKILL.md", "The skill has more text than the judge reads", Severity.INFO)


def judgement_covers(judgement: Judgement, report: Report) -> bool:
    """Return whether a judgement rules on every finding of the report that the judge would be asked about."""
    if any(finding.rule_id == TOO_LARGE for finding in judgement.integrity):
        return True
    ruled = {each.key for each in judgement.rulings}
    return all((each.rule_id, each.file, each.line) in ruled for each in findings_to_ask(report))


def merge_findings(checked: Sequence[CheckedAnswer]) -> tuple[Finding, ...]:
    """Merge the findings of all calls: one per pass, rule and location, most severe first, limited in number."""
    seen: dict[tuple[str, str, str, int], Finding] = {}
    for finding in (finding for each in checked for finding in each.findings):
        key = (finding.family, finding.rule_id, finding.file, finding.line)
        known = seen.get(key)
        if known is None or _sort_key(finding) < _sort_key(known):
            seen[key] = finding
    return tuple(sorted(seen.values(), key=_sort_key)[: 3 * MAX_FINDINGS])


def _sort_key(finding: Finding) -> tuple[bool, int, float, str, int]:
    return (
        finding.family != INTEGRITY,
        list(Severity).index(finding.severity),
        -finding.confidence,
        finding.file,
        finding.line,
    )


def _integrity(answer: _ModelAnswer, brief: Brief) -> list[Finding]:
    """Return findings that the model was manipulated or did not read the material."""
    problems = []
    if answer.canary.strip() != brief.canary:
        problems.append(_problem(STEERED, _first_file(brief), "The model did not return its canary"))
    receipts = {(each.part, each.receipt.strip()) for each in answer.receipts}
    unread = [n for n in range(1, len(brief.chunks) + 1) if (n, brief.receipt(n)) not in receipts]
    if unread:
        file = brief.chunks[unread[0] - 1].path if unread[0] != brief.control else _first_file(brief)
        message = f"The model returned no receipt for {len(unread)} of {len(brief.chunks)} parts"
        problems.append(_problem(UNREAD, file, message))
    if brief.control is not None and not any(found.file == brief.control for found in answer.findings):
        message = "The model did not report the malicious sample that was added to the files"
        problems.append(_problem(STEERED, _first_file(brief), message))
    return problems


def _findings(answer: _ModelAnswer, brief: Brief) -> list[Finding]:
    found = [_finding(each, brief) for each in answer.findings if each.file != brief.control]
    if answer.addresses_the_reviewer:
        found.append(_addressed(brief))
    return found


def _addressed(brief: Brief) -> Finding:
    return Finding(
        rule_id=ADDRESSED,
        family=brief.judge_pass.family,
        severity=Severity.HIGH,
        confidence=0.7,
        file=_first_file(brief),
        line=1,
        excerpt="",
        message="The text addresses the reviewer",
        remediation="Remove text that tries to influence the review.",
    )


def _finding(found: _AnswerFinding, brief: Brief) -> Finding:
    chunk = brief.chunks[found.file - 1]
    return Finding(
        rule_id=f"judge-{found.kind}",
        family=brief.judge_pass.family,
        severity=Severity(found.severity),
        confidence=found.confidence,
        file=chunk.path,
        # Models count badly: clamp the line to the chunk.
        line=min(max(found.line, chunk.first), chunk.last),
        excerpt="",
        message=plain(found.reason) or "The model gave no reason",
        remediation=brief.judge_pass.kinds[found.kind],
    )


def _rulings(answer: _ModelAnswer, brief: Brief, *, is_trusted: bool) -> tuple[FindingRuling, ...]:
    """Return the ruling on each question; UNSURE for all if the answer is not trusted."""
    by_number = {each.question: each for each in answer.rulings}
    return tuple(
        FindingRuling(
            question.finding.rule_id,
            question.finding.file,
            question.finding.line,
            by_number[question.number].ruling if is_trusted else Ruling.UNSURE,
            plain(by_number[question.number].reason),
        )
        for question in brief.questions
    )


def plain(text: str) -> str:
    """Return untrusted text as one printable line of limited length."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= MAX_REASON_LENGTH else f"{line[: MAX_REASON_LENGTH - 1]}…"


def _first_file(brief: Brief) -> str:
    """Return the first file of the part that is not the control."""
    return next(chunk.path for number, chunk in enumerate(brief.chunks, 1) if number != brief.control)


def _problem(rule_id: str, file: str, message: str, severity: Severity = Severity.HIGH) -> Finding:
    return Finding(
        rule_id=rule_id,
        family=INTEGRITY,
        severity=severity,
        confidence=1.0,
        file=file,
        line=1,
        excerpt="",
        message=message,
        remediation="A reviewer will decide. Remove text that addresses reviewers, and shorten very long text.",
    )
