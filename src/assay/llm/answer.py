"""The answer of a model, held against its brief. What does not hold is no answer; what was not read is a finding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from assay.llm.passes import LONGEST_REASON, MOST_FINDINGS
from assay.llm.prompt import Brief, questions_of
from assay.model.finding import Finding, Report, Severity
from assay.model.judgement import (
    ADDRESSED,
    INTEGRITY,
    STEERED,
    TOO_LARGE,
    UNREAD,
    Judgement,
    Ruled,
    Ruling,
)

# A text longer than that is no reason any more.
LONGEST_STRING = 4_000
Text = Annotated[str, msgspec.Meta(max_length=LONGEST_STRING)]
Number = Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]


class BadAnswer(Exception):
    """What came back is not an answer to what was asked."""


class _Receipt(msgspec.Struct, forbid_unknown_fields=True):
    part: Number
    receipt: Text


class _Found(msgspec.Struct, forbid_unknown_fields=True):
    file: Number
    line: Number
    kind: Text
    severity: Literal["critical", "high", "medium", "low"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: Text


class _Ruled(msgspec.Struct, forbid_unknown_fields=True):
    question: Number
    ruling: Ruling
    reason: Text


class _Answer(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    canary: Text
    receipts: Annotated[list[_Receipt], msgspec.Meta(max_length=2_000)]
    findings: Annotated[list[_Found], msgspec.Meta(max_length=200)]
    rulings: Annotated[list[_Ruled], msgspec.Meta(max_length=200)]
    addresses_the_reviewer: bool


@dataclass(frozen=True)
class Checked:
    """What an answer says, by the skill's own names."""

    findings: tuple[Finding, ...]
    rulings: tuple[Ruled, ...]


def check_answer(text: str, brief: Brief) -> Checked:
    """Raises BadAnswer if this is no answer. Whoever was steered or did not read gets a finding for it."""
    try:
        answer = msgspec.json.decode(text, type=_Answer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        # What is wrong may be told in the model's own words.
        raise BadAnswer(f"it is not of the form that was asked for: {plain(str(problem))[:200]}") from None
    for found in answer.findings:
        if found.kind not in brief.asked.kinds:
            raise BadAnswer(f"it reports {found.kind[:50]!r}, which was not asked for")
        if not 1 <= found.file <= len(brief.pieces):
            raise BadAnswer(f"it reports part {found.file}, which there is not")
    if sorted(ruled.question for ruled in answer.rulings) != [each.number for each in brief.questions]:
        raise BadAnswer("it does not answer each question once")
    if not all(plain(ruled.reason) for ruled in answer.rulings):
        raise BadAnswer("it rules without a reason")
    problems = _integrity(answer, brief)
    findings = [] if problems else _findings(answer, brief)
    return Checked((*problems, *findings), _rulings(answer, brief, is_sound=not problems))


def too_large() -> Finding:
    """What stands for a skill that has more to read than is read."""
    return _problem(TOO_LARGE, "SKILL.md", "It has more text than a model is given to read", Severity.INFO)


def covers(judgement: Judgement, report: Report) -> bool:
    """Whether a judgement answers everything that would be asked about this report."""
    if any(finding.rule_id == TOO_LARGE for finding in judgement.integrity):
        return True
    ruled = {each.key for each in judgement.rulings}
    return all((each.rule_id, each.file, each.line) in ruled for each in questions_of(report))


def merge_findings(checked: Sequence[Checked]) -> tuple[Finding, ...]:
    """What all parts and passes found, each place once for a pass, the gravest first and not without end."""
    seen: dict[tuple[str, str, str, int], Finding] = {}
    for finding in (finding for each in checked for finding in each.findings):
        key = (finding.family, finding.rule_id, finding.file, finding.line)
        known = seen.get(key)
        if known is None or _gravity(finding) < _gravity(known):
            seen[key] = finding
    return tuple(sorted(seen.values(), key=_gravity)[: 3 * MOST_FINDINGS])


def _gravity(finding: Finding) -> tuple[bool, int, float, str, int]:
    return (
        finding.family != INTEGRITY,
        list(Severity).index(finding.severity),
        -finding.confidence,
        finding.file,
        finding.line,
    )


def _integrity(answer: _Answer, brief: Brief) -> list[Finding]:
    """What shows that the model was steered or did not look."""
    problems = []
    if answer.canary.strip() != brief.canary:
        problems.append(_problem(STEERED, _where(brief), "The model did not return the word that it was given"))
    given = {(each.part, each.receipt.strip()) for each in answer.receipts}
    unread = [n for n in range(1, len(brief.pieces) + 1) if (n, brief.receipt(n)) not in given]
    if unread:
        where = brief.pieces[unread[0] - 1].path if unread[0] != brief.control else _where(brief)
        said = f"The model shows no receipt for {len(unread)} of {len(brief.pieces)} parts that it was shown"
        problems.append(_problem(UNREAD, where, said))
    if brief.control is not None and not any(found.file == brief.control for found in answer.findings):
        said = "The model did not report the known bad sample that was put among the files"
        problems.append(_problem(STEERED, _where(brief), said))
    return problems


def _findings(answer: _Answer, brief: Brief) -> list[Finding]:
    found = [_finding(each, brief) for each in answer.findings if each.file != brief.control]
    if answer.addresses_the_reviewer:
        found.append(_addressed(brief))
    return found


def _addressed(brief: Brief) -> Finding:
    return Finding(
        rule_id=ADDRESSED,
        family=brief.asked.family,
        severity=Severity.HIGH,
        confidence=0.7,
        file=_where(brief),
        line=1,
        excerpt="",
        message="It speaks to whoever examines it",
        remediation="Remove text that tries to influence an examination.",
    )


def _finding(found: _Found, brief: Brief) -> Finding:
    piece = brief.pieces[found.file - 1]
    return Finding(
        rule_id=f"judge-{found.kind}",
        family=brief.asked.family,
        severity=Severity(found.severity),
        confidence=found.confidence,
        file=piece.path,
        # Models count badly; the place is somewhere in what they were shown.
        line=min(max(found.line, piece.first), piece.last),
        excerpt="",
        message=plain(found.reason) or "No reason was given",
        remediation=brief.asked.kinds[found.kind],
    )


def _rulings(answer: _Answer, brief: Brief, *, is_sound: bool) -> tuple[Ruled, ...]:
    """What was said to each question. Of an answer that is not sound, nothing is believed."""
    said = {each.question: each for each in answer.rulings}
    return tuple(
        Ruled(
            asked.finding.rule_id,
            asked.finding.file,
            asked.finding.line,
            said[asked.number].ruling if is_sound else Ruling.UNSURE,
            plain(said[asked.number].reason),
        )
        for asked in brief.questions
    )


def plain(text: str) -> str:
    """A sentence of a model, which may be a sentence of the skill: one line that can be printed, not without end."""
    said = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return said if len(said) <= LONGEST_REASON else f"{said[: LONGEST_REASON - 1]}…"


def _where(brief: Brief) -> str:
    """A file of the skill: of the part, the first that is not ours."""
    return next(piece.path for number, piece in enumerate(brief.pieces, 1) if number != brief.control)


def _problem(rule_id: str, file: str, said: str, severity: Severity = Severity.HIGH) -> Finding:
    return Finding(
        rule_id=rule_id,
        family=INTEGRITY,
        severity=severity,
        confidence=1.0,
        file=file,
        line=1,
        excerpt="",
        message=said,
        remediation="A person looks at it. Text that speaks to an examiner, or very much text, leads to this.",
    )
