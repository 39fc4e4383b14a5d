"""Confidence of matches, and the findings with the highest confidence per rule and file."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.model.finding import Finding, Region, Severity
from assay.scan.checks.purpose import SkillPurpose
from assay.scan.match.matcher import SearchResult
from assay.scan.rule import AppliesTo, Rule
from assay.scan.text.files import FileKind
from assay.scan.text.text import Text

MAX_FINDINGS_PER_RULE_AND_FILE = 10
# Fenced text is more often shown than meant, and text with a warning least of all.
FENCED_FACTOR = 0.7
WARNED_FACTOR = 0.3
QUOTED_FACTOR = 0.4
EXCUSED_FACTOR = 0.25
# Scripts of a skill about security.
TOOL_FACTOR = 0.6
# Items in a list, in a skill about security.
LISTED_FACTOR = 0.15
# Negated instructions.
NEGATED_FACTOR = 0.1
# Weak signs count in proportion to the size of the skill; clear signs of an attack count in any amount of text.
_HINTS = frozenset({Severity.MEDIUM, Severity.LOW})


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text, its search result, and the index of each pattern."""

    text: Text
    result: SearchResult
    numbers: Mapping[str, int]

    def may_match(self, pattern: str) -> bool:
        return self.result.may_match(self.numbers[pattern])

    def matches(self, pattern: str) -> list[re.Match[bytes]]:
        return self.result.matches(self.numbers[pattern])


def rule_findings(
    rule: Rule, candidates: Sequence[SearchedText], searched: Sequence[SearchedText], purpose: SkillPurpose
) -> Iterator[Finding]:
    """Yield the findings of a rule in the candidate texts, one per line. `searched` holds all texts of the skill."""
    if rule.anywhere and not any(each.matches(pattern) for each in searched for pattern in rule.together_with):
        return
    known: set[tuple[str, int]] = set()
    for each in candidates:
        # A decoded text may repeat lines of its file.
        new = [finding for finding in _examine_text(rule, each, purpose) if (finding.file, finding.line) not in known]
        known.update((finding.file, finding.line) for finding in new)
        yield from new


def comment_findings(texts: Sequence[Text], rules: Sequence[Rule], purpose: SkillPurpose) -> Iterator[Finding]:
    """Yield the findings of comment rules in Markdown comments of any file: a script may write Markdown too."""
    findings: dict[tuple[str, str, int], Finding] = {}
    for text in texts:
        if b"<!--" not in text.data:
            continue
        # Line breaks in a comment are invisible, so a sentence may span lines.
        unbroken = text.data.replace(b"\n", b" ")
        for begin, end in text.regions.comments:
            for rule in rules:
                for match in (match for p in rule.comment_patterns for match in p.finditer(unbroken, begin, end)):
                    line = text.line_at(match.start())
                    confidence = _confidence(rule, text, match, purpose)
                    excerpt = text.excerpt(match.start(), match.end())
                    finding = finding_of(rule, text.path, line, confidence, excerpt, text.region_at(match.start()))
                    findings.setdefault((rule.id, text.path, line), finding)
    yield from (finding for _, finding in sorted(findings.items(), key=lambda item: item[0]))


def _examine_text(rule: Rule, searched: SearchedText, purpose: SkillPurpose) -> Iterator[Finding]:
    text = searched.text
    surest: dict[int, tuple[float, re.Match[bytes]]] = {}
    for match in _matches(rule, searched):
        if not _applies(rule, text, match):
            continue
        line = text.line_at(match.start())
        confidence = _confidence(rule, text, match, purpose)
        if confidence > surest.get(line, (0.0, match))[0]:
            surest[line] = confidence, match
    # Keep the highest confidences, not the first matches, so that harmless decoys cannot crowd out a real match.
    best = sorted(surest.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_FINDINGS_PER_RULE_AND_FILE]
    for line, (confidence, match) in sorted(best, key=lambda item: item[0]):
        excerpt = text.excerpt(match.start(), match.end())
        yield finding_of(rule, text.path, line, confidence, excerpt, text.region_at(match.start()))


def _applies(rule: Rule, text: Text, match: re.Match[bytes]) -> bool:
    """Return false for prose if the rule applies only to scripts; fenced code counts as a script."""
    is_sentence = text.kind is FileKind.MARKDOWN and text.region_at(match.start()) is not Region.FENCED
    return rule.applies_to is not AppliesTo.SCRIPTS or not is_sentence


def _matches(rule: Rule, searched: SearchedText) -> Iterable[re.Match[bytes]]:
    needs_company = bool(rule.together_with) and not rule.anywhere
    if needs_company and not any(map(searched.may_match, rule.together_with)):
        return ()
    matches = [match for pattern in rule.patterns if searched.may_match(pattern) for match in searched.matches(pattern)]
    if rule.exceptions:
        matches = [match for match in matches if not any(exception.search(match[0]) for exception in rule.exceptions)]
    if not matches or not needs_company:
        return matches
    companions = (match for pattern in rule.together_with for match in searched.matches(pattern))
    lines = sorted({searched.text.line_at(match.start()) for match in companions})
    return (
        match for match in matches if lines and _near(searched.text.line_at(match.start()), lines, rule.within_lines)
    )


def _near(line: int, others: list[int], distance: int) -> bool:
    position = bisect_left(others, line - distance)
    return position < len(others) and others[position] <= line + distance


def _confidence(rule: Rule, text: Text, match: re.Match[bytes], purpose: SkillPurpose) -> float:
    region = text.region_at(match.start())
    usual = rule.confidence * (FENCED_FACTOR if region is Region.FENCED else 1)
    confidence = rule.confidence_in.get(region, rule.confidence_in.get(region.scored_as, usual))
    if any(excuse.search(match[0]) for excuse in rule.excuses):
        confidence *= EXCUSED_FACTOR
    if text.is_negated(match.start(), region):
        confidence *= NEGATED_FACTOR
    elif rule.teachable and purpose.is_security and text.is_listed(match.start(), match.end(), region):
        confidence *= LISTED_FACTOR
    elif text.is_warned(match.start(), region):
        confidence *= WARNED_FACTOR
    elif text.is_quoted(match.start(), region):
        confidence *= QUOTED_FACTOR
    return round(confidence * weight_of_purpose(rule, text, purpose), 3)


def weight_of_purpose(rule: Rule, text: Text, purpose: SkillPurpose) -> float:
    """Return the factor by which the skill as a whole changes the confidence of a match. Handbooks quote attacks in
    prose; their scripts touch what they examine, so their confidence is lowered less.
    """
    factor = purpose.prominence if rule.severity in _HINTS else 1.0
    if rule.teachable and purpose.is_security:
        factor *= purpose.handbook if text.kind is FileKind.MARKDOWN else max(purpose.handbook, TOOL_FACTOR)
    return factor


def finding_of(
    rule: Rule, path: str, line: int, confidence: float, excerpt: str, region: Region | None = None
) -> Finding:
    return Finding(
        rule_id=rule.id,
        family=rule.family,
        severity=rule.severity,
        confidence=confidence,
        file=path,
        line=line,
        excerpt=excerpt,
        message=rule.title,
        remediation=rule.remediation,
        region=region,
    )
