"""Between programs: what one leaves in a file, and another one sends or runs.

Whoever wants to hide a flow may cut it in two: one program collects, another one, perhaps of another language, uploads.
They meet in a file, so only programs that name the same file are read together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from assay.model.finding import Finding
from assay.scan.checks.purpose import Purpose
from assay.scan.flow.program import Program
from assay.scan.flow.taint import PRINTED_BY, FlowKind, Origin, Taint, Taints, shorten
from assay.scan.flow.trace import SeenIn, found, holds
from assay.scan.ruleset import Ruleset

# Not what is called or assigned to.
_FILE_NAME = re.compile(r"(?<![\w.-])\.?[\w-]{1,60}\.\w{1,8}(?![\w.(=-])|(?<=/tmp/)[\w-]{1,60}(?![\w.])")
# What ships under such a name is named because it is run or read, and not written.
_CODE = (".py", ".sh", ".js", ".ts", ".mjs")
# What is left in a file, and who has left it: one of each kind, and every token, because several say more than one.
Left = dict[tuple[Origin, str], tuple[Taint, Program]]
_TOKENS = 12


def trace_between(
    programs: Sequence[Program], seen_in: SeenIn, ruleset: Ruleset, purpose: Purpose
) -> Iterator[Finding]:
    """Every flow that begins in one program of a skill and ends in another; none of them is read more than twice."""
    writing, reading = _ends(programs, seen_in, ruleset)
    if len({id(program) for program in (*writing, *reading)}) < 2:
        return
    shipped = {_name_of(script.text.path) for program in programs for script in program.scripts}
    passed_over = {name for name in shipped if name.endswith(_CODE)}
    named = [set(_FILE_NAME.findall(program.code)) for program in reading]
    meeting = set().union(*named)
    writing = [program for program in writing if not meeting.isdisjoint(_met_by(program, passed_over))]
    for program in writing:
        unread = (flow for flow in program.reading.flows if flow.kind is FlowKind.UNREAD)
        yield from (found(program, flow, flow.source, ruleset, purpose) for flow in unread)
    left = _left_in_files(writing, meeting)
    paths: dict[str, list[str]] = {}
    for path in left:
        paths.setdefault(_name_of(path), []).append(path)
    for program, names in zip(reading, named, strict=True):
        met = (path for name in sorted(names) for path in paths.get(name, ()))
        known = {path: left[path] for path in met if path.startswith(PRINTED_BY) or _name_of(path) not in passed_over}
        if known:
            yield from _continued(program, known, ruleset, purpose)


def _ends(programs: Sequence[Program], seen_in: SeenIn, ruleset: Ruleset) -> tuple[list[Program], list[Program]]:
    """The programs in which a flow may begin, and those in which the same kind of flow may end."""
    writing: dict[int, Program] = {}
    reading: dict[int, Program] = {}
    for sources, sinks in ruleset.traced:
        if sources == sinks:
            continue
        begun = [program for program in programs if holds(program, seen_in, sources)]
        ended = [program for program in programs if begun and holds(program, seen_in, sinks)]
        if begun and ended:
            writing |= {id(program): program for program in begun}
            reading |= {id(program): program for program in ended}
    return list(writing.values()), list(reading.values())


def _met_by(program: Program, passed_over: set[str]) -> set[str]:
    """By which names others may meet a program: of the files that it names, and its own, if it is run."""
    own = {_name_of(script.text.path) for script in program.scripts if not script.blocks}
    return (set(_FILE_NAME.findall(program.code)) - passed_over) | own


def _name_of(path: str) -> str:
    return PurePosixPath(path.removeprefix(PRINTED_BY)).name


def _left_in_files(writing: Sequence[Program], meeting: set[str]) -> dict[str, Left]:
    """What programs leave in files that somebody names, by path, and what those print that somebody names."""
    left: dict[str, Left] = {}
    for program in writing:
        printed = (
            (PRINTED_BY + script.text.path, program.printed_by(number))
            for number, script in enumerate(program.scripts)
            if not script.blocks and _name_of(script.text.path) in meeting
        )
        for path, held in (*program.reading.files, *printed):
            if _name_of(path) not in meeting:
                continue
            known = left.setdefault(path, {})
            for taint in sorted(held):
                is_one_of_many = taint.origin is Origin.TOKEN and len(known) < _TOKENS
                known.setdefault((taint.origin, taint.text if is_one_of_many else ""), (taint, program))
    return left


def _continued(reader: Program, left: Mapping[str, Left], ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    """What a program does with what others have left in files."""
    sources: dict[tuple[int, str], str] = {}
    files: list[tuple[str, Taints]] = []
    for path, held in left.items():
        moved = set()
        for taint, writer in held.values():
            if writer is reader:
                continue
            # No program has such lines, so that they say from where a taint comes.
            line = -1 - len(sources)
            moved.add(Taint(line, taint.origin, taint.text))
            script, line_there = writer.place(taint.line)
            shown, place = shorten(taint.text), f"{script.text.path}:{script.text.origin_of(line_there)}"
            sources[line, shown] = f"{shown} ({place})"
        if moved:
            files.append((path, frozenset(moved)))
    if not files:
        return
    for flow in reader.read(tuple(files)).flows:
        source = flow.source if flow.kind is FlowKind.UNREAD else sources.get((flow.source_line, flow.source))
        if source:
            yield found(reader, flow, source, ruleset, purpose)
