"""The structure of a source: its front matter, and the files that cannot be read as text."""

from collections.abc import Iterator

from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.excerpt import excerpt_of
from assay.scan.files import UNREADABLE, FileKind, is_text, kind_of
from assay.scan.front_matter import Problem, read_front_matter
from assay.scan.rule import Check
from assay.scan.ruleset import Ruleset

_CHECK_OF_KIND = {
    FileKind.EXECUTABLE: Check.EXECUTABLE,
    FileKind.ARCHIVE: Check.ARCHIVE,
    FileKind.BINARY: Check.BINARY,
}


def examine_structure(source: Source, ruleset: Ruleset) -> Iterator[Finding]:
    """Findings for what no pattern can see."""
    for problem in _skill_problems(source):
        yield _finding(ruleset, problem, "SKILL.md")
    for path, content in sorted(source.files.items()):
        for problem in _file_problems(path, content):
            yield _finding(ruleset, problem, path, excerpt_of(content[:16].hex(" ")))


def _skill_problems(source: Source) -> tuple[Problem, ...]:
    if "SKILL.md" not in source.files:
        return (Problem(Check.FRONT_MATTER, 1, "There is no SKILL.md"),)
    return read_front_matter(source.skill_md).problems


def _file_problems(path: str, content: bytes) -> Iterator[Problem]:
    kind = kind_of(path, content)
    if kind in UNREADABLE:
        yield Problem(_CHECK_OF_KIND[kind], 1, f"This {kind} file cannot be read as text ({len(content)} bytes)")
    elif not is_text(content):
        yield Problem(Check.ENCODING, 1, "This text is not plain UTF-8")


def _finding(ruleset: Ruleset, problem: Problem, path: str, excerpt: str = "") -> Finding:
    rule = ruleset.rule_for(problem.check)
    return Finding(
        rule_id=rule.id,
        family=rule.family,
        severity=rule.severity,
        confidence=rule.confidence,
        file=path,
        line=problem.line,
        excerpt=excerpt,
        message=problem.message,
        remediation=rule.remediation,
    )
