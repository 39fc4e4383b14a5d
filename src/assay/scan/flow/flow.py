"""Dataflow in scripts: from reading data to sending, running or storing it. Nothing is executed."""

from dataclasses import replace

from assay.scan.flow.javascript.flow import find_javascript_flows
from assay.scan.flow.python.flow import find_python_flows
from assay.scan.flow.shell.flow import find_shell_flows
from assay.scan.flow.taint import (
    Analysis,
    CodeContext,
    Files,
    Flow,
    FlowKind,
    Language,
    ProgramPart,
    Taint,
    Taints,
    Value,
    flow_of,
    shorten,
)
from assay.scan.text.code_blocks import join_blocks

__all__ = ["Analysis", "Flow", "FlowKind", "Language", "analyse_code", "find_flows", "join_blocks", "unread"]

# Longer files are reported as unread, so that an absence of findings is not taken for an all-clear.
SIZE_LIMIT = 200_000
# Maximum nesting of code in code, such as a program in a command line in a program.
_NESTING = 5


def find_flows(language: Language, code: str) -> list[Flow]:
    """Return all harmful flows in the code, by line. Never raises; code that was not read is reported as a flow."""
    return list(analyse_code(language, code).flows)


def analyse_code(language: Language, code: str, files: Files = (), parts: tuple[ProgramPart, ...] = ()) -> Analysis:
    """Read code that may consist of several files (`parts`) and read `files` that other code has written."""
    if len(code) > SIZE_LIMIT and not parts:
        return Analysis((unread(language, code, 1),))
    whole = code.replace("\r\n", "\n").replace("\r", "\n")
    analysis = _NestedCodeReader(0, {}).read(language, whole, CodeContext(files=files, parts=parts), 0)
    ordered = sorted(_strongest(analysis.flows), key=lambda flow: (flow.line, flow.kind, flow.source_line, flow.source))
    return replace(analysis, flows=tuple(ordered))


def unread(language: Language, code: str, line: int) -> Flow:
    """Return the flow that reports a file as too long to be read."""
    return flow_of(FlowKind.UNREAD, f"{len(code)} characters of {language}", line, line, "longer than is examined")


def _strongest(flows: tuple[Flow, ...]) -> set[Flow]:
    """Drop downloads that proved to be a remote shell once the loop around them was known."""
    shells = {(flow.line, flow.source) for flow in flows if flow.kind is FlowKind.REMOTE_SHELL}
    return {f for f in flows if f.kind is not FlowKind.DOWNLOAD_RUN or (f.line, f.source) not in shells}


class _NestedCodeReader:
    """Reads code and the code nested in it, each text once."""

    def __init__(self, depth: int, known: dict[tuple[Language, str, CodeContext], Analysis]) -> None:
        self.depth = depth
        self.known = known

    def read(self, language: Language, code: str, context: CodeContext, line: int) -> Analysis:
        """Read code. If `line` is not 0, report everything on that line."""
        if self.depth > _NESTING:
            return Analysis((flow_of(FlowKind.UNREAD, f"{language} in code", 1, max(line, 1), "nested too deep"),))
        key = (language, code, context)
        if key not in self.known:
            inner = _NestedCodeReader(self.depth + 1, self.known)
            try:
                self.known[key] = _read(language, code, context, inner)
            except RecursionError:  # the caller may already be deep in the stack
                self.known[key] = Analysis((flow_of(FlowKind.UNREAD, f"{language}", 1, 1, "nested too deep"),))
        return _at_line(self.known[key], line, context) if line else self.known[key]


def _read(language: Language, code: str, context: CodeContext, inner: _NestedCodeReader) -> Analysis:
    match language:
        case Language.PYTHON:
            analysis, whole = find_python_flows(code, inner.read, context)
        case Language.SHELL:
            analysis, whole = find_shell_flows(code, inner.read, context)
        case Language.JAVASCRIPT:
            analysis, whole = find_javascript_flows(code, inner.read, context)
    if whole:
        return analysis
    unread = flow_of(FlowKind.UNREAD, f"a part of {language}", 1, 1, "nested too deep")
    return replace(analysis, flows=(*analysis.flows, unread))


def _at_line(analysis: Analysis, line: int, context: CodeContext) -> Analysis:
    """Move a reading to one line, except taints from outside, which keep the line they were read on."""
    inherited = context.taints.union(*(held for _, held in context.files))
    known = {(taint.line, shorten(taint.text)) for taint in inherited}
    flows = []
    for flow in analysis.flows:
        source_line = flow.source_line if (flow.source_line, flow.source) in known else line
        flows.append(Flow(flow.kind, line, source_line, flow.source, flow.sink))

    def here(taints: Taints) -> Taints:
        return frozenset(t if t in inherited else Taint(line, t.origin, t.text) for t in taints)

    files = tuple((path, here(held)) for path, held in analysis.files)
    return Analysis(tuple(flows), Value(analysis.output.texts, here(analysis.output.taints)), files)
