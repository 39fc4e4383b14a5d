"""Examine one file with one rule: every match, how sure it makes us, and the surest few as findings."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain

from assay.model.finding import Finding
from assay.scan.context import (
    EXCUSED_FACTOR,
    FENCED_FACTOR,
    QUOTED_FACTOR,
    WARNED_FACTOR,
    Context,
    is_quoted,
    is_warned,
)
from assay.scan.excerpt import excerpt_of
from assay.scan.file_text import FileText
from assay.scan.files import FileKind
from assay.scan.rule import AppliesTo, Rule
from assay.scan.view import View

MAX_FINDINGS_PER_RULE_AND_FILE = 10


def examine(file: FileText, rule: Rule) -> list[Finding]:
    """What this rule sees in this file: at most ten findings, the surest, in the order of their lines."""
    if not _applies(rule, file):
        return []
    view = file.raw if rule.raw else file.folded
    surest: dict[int, tuple[float, re.Match[str]]] = {}
    for match in _matches(rule, view):
        line = view.line_at(match.start())
        confidence = _confidence(rule, file, match, line)
        if confidence > surest.get(line, (0.0, match))[0]:
            surest[line] = confidence, match
    # The surest are kept, not the first, so that harmless decoys cannot crowd out the real thing.
    kept = sorted(surest.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_FINDINGS_PER_RULE_AND_FILE]
    return [
        _finding(rule, file.path, line, confidence, _excerpt(view, match))
        for line, (confidence, match) in sorted(kept, key=lambda item: item[0])
    ]


def _applies(rule: Rule, file: FileText) -> bool:
    if rule.raw and not file.has_rare_characters:
        return False
    match rule.applies_to:
        case AppliesTo.ALL:
            return True
        case AppliesTo.SCRIPTS:
            return file.kind is not FileKind.MARKDOWN
        case AppliesTo.MARKDOWN | AppliesTo.COMMENTS:
            return file.kind is FileKind.MARKDOWN


def _matches(rule: Rule, view: View) -> Iterable[re.Match[str]]:
    found = chain.from_iterable(search.matches(view) for search in rule.patterns)
    if not rule.together_with:
        return found
    companions = chain.from_iterable(search.matches(view) for search in rule.together_with)
    lines = sorted({view.line_at(match.start()) for match in companions})
    return (match for match in found if _near(view.line_at(match.start()), lines, rule.within_lines))


def _near(line: int, others: list[int], distance: int) -> bool:
    position = bisect_left(others, line - distance)
    return position < len(others) and others[position] <= line + distance


def _confidence(rule: Rule, file: FileText, match: re.Match[str], line: int) -> float:
    context = file.contexts[0][line - 1]
    if rule.applies_to is AppliesTo.COMMENTS and context is not Context.COMMENT:
        return 0.0
    usual = rule.confidence * (FENCED_FACTOR if context is Context.FENCED else 1)
    confidence = rule.confidence_in.get(context, usual)
    if any(excuse.search(match[0]) for excuse in rule.excuses):
        confidence *= EXCUSED_FACTOR
    return round(confidence * _doubt(rule, file, context, match.start(), line), 3)


def _doubt(rule: Rule, file: FileText, context: Context, offset: int, line: int) -> float:
    """The factor by which a warning or a quotation mark lowers what a match tells us."""
    # In a script a warning is a remark beside code that runs; in a comment nobody is there to be warned; and what
    # is hidden in invisible characters is shown to nobody as an example.
    if rule.raw or context not in (Context.PROSE, Context.FENCED):
        return 1.0
    if file.contexts[1][line - 1] or is_warned(file.folded.text, file.warnings, offset):
        return WARNED_FACTOR
    if context is Context.PROSE and is_quoted(file.folded.text, offset):
        return QUOTED_FACTOR
    return 1.0


def _excerpt(view: View, match: re.Match[str]) -> str:
    begin, end = view.bounds_at(match.start())
    return excerpt_of(view.text[begin : max(end, match.end())].replace("\n", " "), match.start() - begin)


def _finding(rule: Rule, path: str, line: int, confidence: float, excerpt: str) -> Finding:
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
    )
