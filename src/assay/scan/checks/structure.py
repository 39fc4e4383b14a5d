"""Checks of the structure of a skill: front matter, size, links, and files that cannot be read as text."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from assay.model.finding import Finding, Region
from assay.model.source import Source
from assay.scan.checks.links import Link, links_with_address, links_within
from assay.scan.checks.lookalike import lookalike_of
from assay.scan.rule import Check
from assay.scan.ruleset import Ruleset
from assay.scan.text.excerpt import excerpt_of
from assay.scan.text.files import UNREADABLE, FileKind, is_text
from assay.scan.text.front_matter import FailedCheck, read_front_matter
from assay.scan.text.text import Text

_RUN_SCRIPT = re.compile(
    rb"(?:^|[`;&|(]|\$ )[ \t]*(?:(?:bash|sh|zsh|source|\.)[ \t]+|(?=\./))((?:\./)?[\w-]{1,60}\.sh)\b", re.MULTILINE
)
_MIN_MENTIONS = 2
# Guides to writing skills recommend half as much; one skill in a hundred is longer.
MAX_INSTRUCTIONS_LINES = 1_000
MAX_INSTRUCTIONS_BYTES = 50_000
# The limit of the tools with which agents read files.
MAX_TEXT_BYTES = 256 * 1024
MAX_SKILL_BYTES = 4 * 1024 * 1024
MAX_FILES = 300
_CHECK_OF_KIND = {
    FileKind.EXECUTABLE: Check.EXECUTABLE,
    FileKind.ARCHIVE: Check.ARCHIVE,
    FileKind.BINARY: Check.BINARY,
}
_REGION_OF_CHECK = {
    **dict.fromkeys((Check.NAME, Check.DESCRIPTION, Check.LOOKALIKE_NAME), Region.FRONT_MATTER),
    **dict.fromkeys((Check.MISSING_FILE, Check.OUTSIDE_FILE, Check.DECEPTIVE_LINK), Region.LINK),
}


def structure_findings(source: Source, texts: list[Text], ruleset: Ruleset) -> Iterator[Finding]:
    """Yield findings that no pattern can express."""
    for problem in (*_skill_problems(source), *_oversize(source)):
        yield _finding(ruleset, problem, "SKILL.md")
    for text in texts:
        content = source.files[text.path]
        for problem in _file_problems(text.kind, content):
            yield _finding(ruleset, problem, text.path, excerpt_of(content[:16].hex(" ")))
        problems = [*_oversize_text(text)]
        if text.path == "SKILL.md":
            problems += [*_missing_scripts(text, texts), *_lost_links(text, source)]
        if text.is_prose:
            problems += _deceptive_links(text)
        for problem in problems:
            yield _finding(ruleset, problem, text.path)


def _lookalike_name(name: str) -> Iterator[FailedCheck]:
    twin = lookalike_of(name)
    if twin:
        yield FailedCheck(Check.LOOKALIKE_NAME, 1, f"The name {name} is almost that of the well-known skill {twin}")


def _skill_problems(source: Source) -> tuple[FailedCheck, ...]:
    if "SKILL.md" not in source.files:
        return (FailedCheck(Check.FRONT_MATTER, 1, "There is no SKILL.md"),)
    read = read_front_matter(source.skill_md)
    return (*read.problems, *_lookalike_name(read.description.name or ""))


def _missing_scripts(skill_md: Text, texts: list[Text]) -> Iterator[FailedCheck]:
    """Yield scripts that the agent is told to run but that do not ship, so that their content is unknown.

    Only if the skill ships and writes no script at all; otherwise the name may belong to the user's project.
    """
    if b".sh" not in skill_md.data or b"cat >" in skill_md.data or any(text.kind is FileKind.SCRIPT for text in texts):
        return
    instructions = list(_RUN_SCRIPT.finditer(skill_md.data))
    if len(instructions) >= _MIN_MENTIONS:
        name = instructions[0][1].decode("utf-8", errors="replace")
        line = skill_md.line_at(instructions[0].start(1))
        yield FailedCheck(Check.MISSING_SCRIPT, line, f"The agent is told to run {name}, which does not ship")


def _oversize(source: Source) -> Iterator[FailedCheck]:
    total = sum(map(len, source.files.values()))
    if total > MAX_SKILL_BYTES:
        yield FailedCheck(Check.SIZE, 1, f"All files together have {total:,} bytes")
    if len(source.files) > MAX_FILES:
        yield FailedCheck(Check.SIZE, 1, f"There are {len(source.files):,} files")


def _oversize_text(text: Text) -> Iterator[FailedCheck]:
    size = len(text.content)
    if text.path == "SKILL.md":
        lines = text.content.count(b"\n")
        if size > MAX_INSTRUCTIONS_BYTES or lines > MAX_INSTRUCTIONS_LINES:
            yield FailedCheck(Check.SIZE, 1, f"SKILL.md has {lines:,} lines and {size:,} bytes")
    elif size > MAX_TEXT_BYTES and text.kind is FileKind.MARKDOWN:
        yield FailedCheck(Check.SIZE, 1, f"{size:,} bytes are more than an agent reads of one file")


def _lost_links(skill_md: Text, source: Source) -> Iterator[FailedCheck]:
    """Yield links to files that will not exist where the skill is installed, once per target."""
    first: dict[str, Link] = {}
    for link in links_within(skill_md):
        first.setdefault(link.target, link)
    lost: dict[str, Link] = {}
    for link in first.values():
        path = link.path
        if path and path not in source.files:
            lost.setdefault(path, link)
    folders = {str(folder) for file in source.files for folder in PurePosixPath(file).parents} if lost else set()
    for path, link in lost.items():
        line = skill_md.line_at(link.offset)
        if path.startswith("../"):
            yield FailedCheck(Check.OUTSIDE_FILE, line, f"{link.target} is outside the skill")
        elif path not in folders:
            yield FailedCheck(Check.MISSING_FILE, line, f"{path} does not ship")


def _deceptive_links(text: Text) -> Iterator[FailedCheck]:
    for link in links_with_address(text):
        if link.is_deceptive:
            message = f"A link that shows {link.shown[:80]} leads to {link.target[:80]}"
            yield FailedCheck(Check.DECEPTIVE_LINK, text.line_at(link.offset), message)


def _file_problems(kind: FileKind, content: bytes) -> Iterator[FailedCheck]:
    if kind in UNREADABLE:
        yield FailedCheck(_CHECK_OF_KIND[kind], 1, f"This {kind} file cannot be read as text ({len(content)} bytes)")
    elif not is_text(content):
        yield FailedCheck(Check.ENCODING, 1, "This text is not plain UTF-8")


def _finding(ruleset: Ruleset, problem: FailedCheck, path: str, excerpt: str = "") -> Finding:
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
        region=_REGION_OF_CHECK.get(problem.check),
    )
