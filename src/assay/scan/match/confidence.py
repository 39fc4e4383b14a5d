"""Examine what the matcher found: how sure each match makes us, and the surest few of each rule as findings."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.model.finding import Finding, Region, Severity
from assay.scan.checks.purpose import Purpose
from assay.scan.match.matcher import Found
from assay.scan.rule import AppliesTo, Rule
from assay.scan.text.files import FileKind
from assay.scan.text.text import Text

MAX_FINDINGS_PER_RULE_AND_FILE = 10
# What is fenced is shown more often than it is meant; what is warned of is meant least.
FENCED_FACTOR = 0.7
WARNED_FACTOR = 0.3
QUOTED_FACTOR = 0.4
EXCUSED_FACTOR = 0.25
# What a script does that belongs to a handbook of attacks.
TOOL_FACTOR = 0.6
# What a skill about security names in a list of such things.
LISTED_FACTOR = 0.15
# What is said not to be done.
NEGATED_FACTOR = 0.1
# A hint counts by how much of the skill it is; a plain sign of an attack counts in any amount of other text.
_HINTS = frozenset({Severity.MEDIUM, Severity.LOW})


@dataclass(frozen=True, slots=True)
class Seen:
    """One text of a skill, what was found in it, and the numbers of the patterns."""

    text: Text
    found: Found
    numbers: Mapping[str, int]

    def may_match(self, pattern: str) -> bool:
        """Whether a pattern may have a match in the text."""
        return self.found.may_match(self.numbers[pattern])

    def matches(self, pattern: str) -> list[re.Match[bytes]]:
        """All matches of a pattern in the text."""
        return self.found.matches(self.numbers[pattern])


def examine(rule: Rule, candidates: Sequence[Seen], seen: Sequence[Seen], purpose: Purpose) -> Iterator[Finding]:
    """What this rule sees in the texts where it may match, among all: at most ten findings a file, the surest, in the
    order of their lines.
    """
    if rule.anywhere and not any(each.matches(pattern) for each in seen for pattern in rule.together_with):
        return
    known: set[tuple[str, int]] = set()
    for each in candidates:
        # A decoded text repeats what its file says in the open.
        found = [finding for finding in _examine_text(rule, each, purpose) if (finding.file, finding.line) not in known]
        known.update((finding.file, finding.line) for finding in found)
        yield from found


def examine_comments(texts: Sequence[Text], rules: Sequence[Rule], purpose: Purpose) -> Iterator[Finding]:
    """What the rules for comments see in comments of Markdown, wherever that stands: a script may write it, too."""
    found: dict[tuple[str, str, int], Finding] = {}
    for text in texts:
        if b"<!--" not in text.data:
            continue
        # Nobody sees where the lines of a comment end, so a sentence may go on in the next.
        unbroken = text.data.replace(b"\n", b" ")
        for begin, end in text.regions.comments:
            for rule in rules:
                for match in (match for p in rule.comment_patterns for match in p.finditer(unbroken, begin, end)):
                    line = text.line_at(match.start())
                    confidence = _confidence(rule, text, match, purpose)
                    excerpt = text.excerpt(match.start(), match.end())
                    told = finding_of(rule, text.path, line, confidence, excerpt, text.region_at(match.start()))
                    found.setdefault((rule.id, text.path, line), told)
    yield from (finding for _, finding in sorted(found.items(), key=lambda item: item[0]))


def _examine_text(rule: Rule, seen: Seen, purpose: Purpose) -> Iterator[Finding]:
    text = seen.text
    surest: dict[int, tuple[float, re.Match[bytes]]] = {}
    for match in _matches(rule, seen):
        if not _applies(rule, text, match):
            continue
        line = text.line_at(match.start())
        confidence = _confidence(rule, text, match, purpose)
        if confidence > surest.get(line, (0.0, match))[0]:
            surest[line] = confidence, match
    # The surest are kept, not the first, so that harmless decoys cannot crowd out the real thing.
    kept = sorted(surest.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_FINDINGS_PER_RULE_AND_FILE]
    for line, (confidence, match) in sorted(kept, key=lambda item: item[0]):
        excerpt = text.excerpt(match.start(), match.end())
        yield finding_of(rule, text.path, line, confidence, excerpt, text.region_at(match.start()))


def _applies(rule: Rule, text: Text, match: re.Match[bytes]) -> bool:
    """A rule for scripts reads those that stand in a fence, too, and no sentence."""
    is_sentence = text.kind is FileKind.MARKDOWN and text.region_at(match.start()) is not Region.FENCED
    return rule.applies_to is not AppliesTo.SCRIPTS or not is_sentence


def _matches(rule: Rule, seen: Seen) -> Iterable[re.Match[bytes]]:
    needs_company = bool(rule.together_with) and not rule.anywhere
    if needs_company and not any(map(seen.may_match, rule.together_with)):
        return ()
    found = [match for pattern in rule.patterns if seen.may_match(pattern) for match in seen.matches(pattern)]
    if rule.exceptions:
        found = [match for match in found if not any(exception.search(match[0]) for exception in rule.exceptions)]
    if not found or not needs_company:
        return found
    companions = (match for pattern in rule.together_with for match in seen.matches(pattern))
    lines = sorted({seen.text.line_at(match.start()) for match in companions})
    return (match for match in found if lines and _near(seen.text.line_at(match.start()), lines, rule.within_lines))


def _near(line: int, others: list[int], distance: int) -> bool:
    position = bisect_left(others, line - distance)
    return position < len(others) and others[position] <= line + distance


def _confidence(rule: Rule, text: Text, match: re.Match[bytes], purpose: Purpose) -> float:
    region = text.region_at(match.start())
    usual = rule.confidence * (FENCED_FACTOR if region is Region.FENCED else 1)
    confidence = rule.confidence_in.get(region, rule.confidence_in.get(region.weighed_as, usual))
    if any(excuse.search(match[0]) for excuse in rule.excuses):
        confidence *= EXCUSED_FACTOR
    if text.is_negated(match.start(), region):
        confidence *= NEGATED_FACTOR
    elif rule.teachable and purpose.is_security and text.is_listed(match.start(), match.end(), region):
        confidence *= LISTED_FACTOR
    elif text.is_doubtful(match.start(), region):
        confidence *= WARNED_FACTOR
    elif text.is_quoted(match.start(), region):
        confidence *= QUOTED_FACTOR
    return round(confidence * weight_of_purpose(rule, text, purpose), 3)


def weight_of_purpose(rule: Rule, text: Text, purpose: Purpose) -> float:
    """The factor by which the whole skill changes what one match in it tells us. A handbook quotes in prose; its
    scripts are tools that touch what they examine, and are excused less.
    """
    factor = purpose.prominence if rule.severity in _HINTS else 1.0
    if rule.teachable and purpose.is_security:
        factor *= purpose.handbook if text.kind is FileKind.MARKDOWN else max(purpose.handbook, TOOL_FACTOR)
    return factor


def finding_of(
    rule: Rule, path: str, line: int, confidence: float, excerpt: str, region: Region | None = None
) -> Finding:
    """A finding of this rule."""
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
