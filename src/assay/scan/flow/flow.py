"""Dataflow in scripts: from what a piece of code reads to where it sends, runs or keeps it; nothing is executed."""

from dataclasses import replace

from assay.scan.flow.javascript.flow import find_javascript_flows
from assay.scan.flow.python.flow import find_python_flows
from assay.scan.flow.shell.flow import find_shell_flows
from assay.scan.flow.taint import (
    Files,
    Flow,
    FlowKind,
    Given,
    Language,
    Part,
    Reading,
    Taint,
    Taints,
    Value,
    flow_of,
    shorten,
)
from assay.scan.text.code_blocks import join_blocks

__all__ = ["Flow", "FlowKind", "Language", "Reading", "find_flows", "join_blocks", "read_code", "unread"]

# A longer file is said to be unread, so that nobody takes silence for an all-clear.
SIZE_LIMIT = 200_000
# Code in code in code: a command string in a program in a command string.
_NESTING = 5


def find_flows(language: Language, code: str) -> list[Flow]:
    """Everything harmful that reaches its end in this code, by line; never raises, and says what it did not read."""
    return list(read_code(language, code).flows)


def read_code(language: Language, code: str, files: Files = (), parts: tuple[Part, ...] = ()) -> Reading:
    """The same, where files hold what other code has left in them and the code may be of several files; and what it
    leaves in files itself.
    """
    if len(code) > SIZE_LIMIT and not parts:
        return Reading((unread(language, code, 1),))
    whole = code.replace("\r\n", "\n").replace("\r", "\n")
    reading = _Reader(0, {}).read(language, whole, Given(files=files, parts=parts), 0)
    ordered = sorted(_strongest(reading.flows), key=lambda flow: (flow.line, flow.kind, flow.source_line, flow.source))
    return replace(reading, flows=tuple(ordered))


def unread(language: Language, code: str, line: int) -> Flow:
    """A file that begins on this line is too long to be read."""
    return flow_of(FlowKind.UNREAD, f"{len(code)} characters of {language}", line, line, "longer than is examined")


def _strongest(flows: tuple[Flow, ...]) -> set[Flow]:
    """Without the downloads that turned out to be a remote shell once the loop around them was known."""
    shells = {(flow.line, flow.source) for flow in flows if flow.kind is FlowKind.REMOTE_SHELL}
    return {f for f in flows if f.kind is not FlowKind.DOWNLOAD_RUN or (f.line, f.source) not in shells}


class _Reader:
    """Reads code, and the code that stands in it, each text once."""

    def __init__(self, depth: int, known: dict[tuple[Language, str, Given], Reading]) -> None:
        self.depth = depth
        self.known = known

    def read(self, language: Language, code: str, given: Given, line: int) -> Reading:
        """What is found in the code; with a line, as if all of it stood on that line."""
        if self.depth > _NESTING:
            return Reading((flow_of(FlowKind.UNREAD, f"{language} in code", 1, max(line, 1), "nested too deep"),))
        key = (language, code, given)
        if key not in self.known:
            inner = _Reader(self.depth + 1, self.known)
            try:
                self.known[key] = _read(language, code, given, inner)
            except RecursionError:  # whoever calls may stand deep already
                self.known[key] = Reading((flow_of(FlowKind.UNREAD, f"{language}", 1, 1, "nested too deep"),))
        return _at_line(self.known[key], line, given) if line else self.known[key]


def _read(language: Language, code: str, given: Given, inner: _Reader) -> Reading:
    match language:
        case Language.PYTHON:
            reading, whole = find_python_flows(code, inner.read, given)
        case Language.SHELL:
            reading, whole = find_shell_flows(code, inner.read, given)
        case Language.JAVASCRIPT:
            reading, whole = find_javascript_flows(code, inner.read, given)
    if whole:
        return reading
    unread = flow_of(FlowKind.UNREAD, f"a part of {language}", 1, 1, "nested too deep")
    return replace(reading, flows=(*reading.flows, unread))


def _at_line(reading: Reading, line: int, given: Given) -> Reading:
    """The same, standing on one line; what came in from outside keeps the line it was read on."""
    inherited = given.taints.union(*(held for _, held in given.files))
    known = {(taint.line, shorten(taint.text)) for taint in inherited}
    flows = []
    for flow in reading.flows:
        source_line = flow.source_line if (flow.source_line, flow.source) in known else line
        flows.append(Flow(flow.kind, line, source_line, flow.source, flow.sink))

    def here(taints: Taints) -> Taints:
        return frozenset(t if t in inherited else Taint(line, t.origin, t.text) for t in taints)

    files = tuple((path, here(held)) for path, held in reading.files)
    return Reading(tuple(flows), Value(reading.output.texts, here(reading.output.taints)), files)
