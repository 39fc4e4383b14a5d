"""Findings for flows between programs, through a file or through a script's output.

A flow can be hidden by splitting it: one program collects data, another one, perhaps in another language, uploads it.
They meet in a file, so only programs that name the same file are analysed together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from assay.model.finding import Finding
from assay.scan.checks.purpose import SkillPurpose
from assay.scan.flow.program import Program
from assay.scan.flow.taint import PRINTED_BY, FlowKind, Taint, TaintOrigin, Taints, shorten
from assay.scan.flow.trace import SearchedTexts, flow_finding, matches_in
from assay.scan.ruleset import Ruleset

# Excludes names that are called or assigned to.
_FILE_NAME = re.compile(r"(?<![\w.-])\.?[\w-]{1,60}\.\w{1,8}(?![\w.(=-])|(?<=/tmp/)[\w-]{1,60}(?![\w.])")
# A program that names a script of the skill runs or reads it, and does not write it.
_CODE = (".py", ".sh", ".js", ".ts", ".mjs")
# Taints of a file with the program that wrote it: one per origin, and every token, because several mean more than one.
FileTaints = dict[tuple[TaintOrigin, str], tuple[Taint, Program]]
_TOKENS = 12


def trace_between(
    programs: Sequence[Program], searched_texts: SearchedTexts, ruleset: Ruleset, purpose: SkillPurpose
) -> Iterator[Finding]:
    """Yield the flows from one program of a skill to another. No program is read more than twice."""
    writing, reading = _ends(programs, searched_texts, ruleset)
    if len({id(program) for program in (*writing, *reading)}) < 2:
        return
    shipped = {_name_of(script.text.path) for program in programs for script in program.scripts}
    passed_over = {name for name in shipped if name.endswith(_CODE)}
    named = [set(_FILE_NAME.findall(program.code)) for program in reading]
    meeting = set().union(*named)
    writing = [program for program in writing if not meeting.isdisjoint(_met_by(program, passed_over))]
    for program in writing:
        unread = (flow for flow in program.analysis.flows if flow.kind is FlowKind.UNREAD)
        yield from (flow_finding(program, flow, flow.source, ruleset, purpose) for flow in unread)
    left = _left_in_files(writing, meeting)
    paths: dict[str, list[str]] = {}
    for path in left:
        paths.setdefault(_name_of(path), []).append(path)
    for program, names in zip(reading, named, strict=True):
        met = (path for name in sorted(names) for path in paths.get(name, ()))
        known = {path: left[path] for path in met if path.startswith(PRINTED_BY) or _name_of(path) not in passed_over}
        if known:
            yield from _continued(program, known, ruleset, purpose)


def _ends(
    programs: Sequence[Program], searched_texts: SearchedTexts, ruleset: Ruleset
) -> tuple[list[Program], list[Program]]:
    """Return the programs in which a flow may start, and those in which the same kind of flow may end."""
    writing: dict[int, Program] = {}
    reading: dict[int, Program] = {}
    for sources, sinks in ruleset.traced:
        if sources == sinks:
            continue
        begun = [program for program in programs if matches_in(program, searched_texts, sources)]
        ended = [program for program in programs if begun and matches_in(program, searched_texts, sinks)]
        if begun and ended:
            writing |= {id(program): program for program in begun}
            reading |= {id(program): program for program in ended}
    return list(writing.values()), list(reading.values())


def _met_by(program: Program, passed_over: set[str]) -> set[str]:
    """Return the file names through which others may receive data of a program: files that it names, and its own."""
    own = {_name_of(script.text.path) for script in program.scripts if not script.blocks}
    return (set(_FILE_NAME.findall(program.code)) - passed_over) | own


def _name_of(path: str) -> str:
    return PurePosixPath(path.removeprefix(PRINTED_BY)).name


def _left_in_files(writing: Sequence[Program], meeting: set[str]) -> dict[str, FileTaints]:
    """Return the data that programs leave in files, or print, where another program names the file."""
    left: dict[str, FileTaints] = {}
    for program in writing:
        printed = (
            (PRINTED_BY + script.text.path, program.printed_by(number))
            for number, script in enumerate(program.scripts)
            if not script.blocks and _name_of(script.text.path) in meeting
        )
        for path, held in (*program.analysis.files, *printed):
            if _name_of(path) not in meeting:
                continue
            known = left.setdefault(path, {})
            for taint in sorted(held):
                is_one_of_many = taint.origin is TaintOrigin.TOKEN and len(known) < _TOKENS
                known.setdefault((taint.origin, taint.text if is_one_of_many else ""), (taint, program))
    return left


def _continued(
    reader: Program, left: Mapping[str, FileTaints], ruleset: Ruleset, purpose: SkillPurpose
) -> Iterator[Finding]:
    """Yield the flows of a program that start in what other programs have written."""
    sources: dict[tuple[int, str], str] = {}
    files: list[tuple[str, Taints]] = []
    for path, held in left.items():
        moved = set()
        for taint, writer in held.values():
            if writer is reader:
                continue
            # Negative lines do not occur in programs, so they identify the origin of a taint.
            line = -1 - len(sources)
            moved.add(Taint(line, taint.origin, taint.text))
            script, line_there = writer.locate(taint.line)
            shown, place = shorten(taint.text), f"{script.text.path}:{script.text.origin_of(line_there)}"
            sources[line, shown] = f"{shown} ({place})"
        if moved:
            files.append((path, frozenset(moved)))
    if not files:
        return
    for flow in reader.read(tuple(files)).flows:
        source = flow.source if flow.kind is FlowKind.UNREAD else sources.get((flow.source_line, flow.source))
        if source:
            yield flow_finding(reader, flow, source, ruleset, purpose)
