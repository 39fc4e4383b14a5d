"""Between scripts: what one leaves in a file, and another one sends or runs.

Whoever wants to hide a flow may cut it in two: one script collects, another one, perhaps of another language, uploads.
They meet in a file, so only scripts that name the same file are read together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from assay.model.finding import Finding
from assay.scan.examine import Seen
from assay.scan.flow import read_code
from assay.scan.purpose import Purpose
from assay.scan.ruleset import Ruleset
from assay.scan.taint import FlowKind, Origin, Taint, Taints, shorten
from assay.scan.text import Text
from assay.scan.trace import Script, Scripts, found, holds

# Not what is called or assigned to.
_FILE_NAME = re.compile(r"(?<![\w.-])\.?[\w-]{1,60}\.\w{1,8}(?![\w.(=-])|(?<=/tmp/)[\w-]{1,60}(?![\w.])")
# What ships under such a name is named because it is run or read, and not written.
_CODE = (".py", ".sh", ".js", ".ts", ".mjs")
Group = tuple[Text, Sequence[Seen]]
# What is left in a file, and who has left it: one of each kind, and every token, because several say more than one.
Left = dict[tuple[Origin, str], tuple[Taint, Script]]
_TOKENS = 12


def trace_between(groups: Sequence[Group], scripts: Scripts, ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    """Every flow that begins in one script of a skill and ends in another one; none of them is read more than twice."""
    writing, reading = _ends(groups, scripts, ruleset)
    if len({id(script) for script in (*writing, *reading)}) < 2:
        return
    shipped = {PurePosixPath(text.path).name for text, _ in groups}
    passed_over = {name for name in shipped if name.endswith(_CODE)}
    named = [set(_FILE_NAME.findall(script.code)) - passed_over for script in reading]
    meeting = set().union(*named)
    writing = [script for script in writing if not meeting.isdisjoint(_FILE_NAME.findall(script.code))]
    for script in writing:
        unread = (flow for flow in script.reading.flows if flow.kind is FlowKind.UNREAD)
        yield from (found(script.text, flow, flow.source, ruleset, purpose) for flow in unread)
    left = _left_in_files(writing)
    for script, names in zip(reading, named, strict=True):
        known = {path: held for path, held in left.items() if PurePosixPath(path).name in names}
        if known:
            yield from _continued(script, known, ruleset, purpose)


def _ends(groups: Sequence[Group], scripts: Scripts, ruleset: Ruleset) -> tuple[list[Script], list[Script]]:
    """The scripts in which a flow may begin, and those in which the same kind of flow may end."""
    writing: dict[int, Script] = {}
    reading: dict[int, Script] = {}
    for sources, sinks in ruleset.traced:
        # Whether there may be a match costs nothing to know.
        begin, end = ([group for group in groups if _may_match(group, patterns)] for patterns in (sources, sinks))
        if sources == sinks or not begin or not end:
            continue
        begun, ended = _holding(begin, sources, scripts), _holding(end, sinks, scripts)
        if begun and ended:
            writing |= begun
            reading |= ended
    return list(writing.values()), list(reading.values())


def _may_match(group: Group, patterns: Sequence[str]) -> bool:
    return any(each.may_match(pattern) for each in group[1] for pattern in patterns)


def _holding(groups: Sequence[Group], patterns: Sequence[str], scripts: Scripts) -> dict[int, Script]:
    return {id(script): script for text, seen in groups for script in scripts.of(text) if holds(script, seen, patterns)}


def _left_in_files(writing: Sequence[Script]) -> dict[str, Left]:
    """What scripts leave in files, by path."""
    left: dict[str, Left] = {}
    for script in writing:
        for path, held in script.reading.files:
            known = left.setdefault(path, {})
            for taint in sorted(held):
                is_one_of_many = taint.origin is Origin.TOKEN and len(known) < _TOKENS
                known.setdefault((taint.origin, taint.text if is_one_of_many else ""), (taint, script))
    return left


def _continued(reader: Script, left: Mapping[str, Left], ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    """What a script does with what others have left in files."""
    sources: dict[tuple[int, str], str] = {}
    files: list[tuple[str, Taints]] = []
    for path, held in left.items():
        moved = set()
        for taint, writer in held.values():
            if writer is reader:
                continue
            # No script has such lines, so that they say from where a taint comes.
            line = -1 - len(sources)
            moved.add(Taint(line, taint.origin, taint.text))
            shown, place = shorten(taint.text), f"{writer.text.path}:{writer.text.origin_of(taint.line)}"
            sources[line, shown] = f"{shown} ({place})"
        files.append((path, frozenset(moved)))
    for flow in read_code(reader.language, reader.code, tuple(files)).flows:
        source = flow.source if flow.kind is FlowKind.UNREAD else sources.get((flow.source_line, flow.source))
        if source:
            yield found(reader.text, flow, source, ruleset, purpose)
