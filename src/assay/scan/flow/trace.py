"""Trace: what flows where in the programs of a skill, as findings."""

from collections.abc import Iterator, Mapping, Sequence

from assay.model.finding import Finding, Region
from assay.scan.checks.purpose import Purpose
from assay.scan.checks.unexamined import unexamined
from assay.scan.flow.flow import Flow, FlowKind
from assay.scan.flow.program import Program
from assay.scan.flow.script import Script
from assay.scan.match.confidence import (
    EXCUSED_FACTOR,
    FENCED_FACTOR,
    WARNED_FACTOR,
    Seen,
    finding_of,
    weight_of_purpose,
)
from assay.scan.rule import Check, Rule
from assay.scan.ruleset import Ruleset
from assay.scan.text.excerpt import excerpt_of
from assay.scan.text.text import Text

# What was seen in each text, by its id.
SeenIn = Mapping[int, Sequence[Seen]]


def trace(program: Program, seen_in: SeenIn, ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    """What harmful flows there are in a program, where something hints at one."""
    if any(all(holds(program, seen_in, end) for end in pair) for pair in ruleset.traced):
        for flow in program.reading.flows:
            yield found(program, flow, _source(program, flow), ruleset, purpose)


def _source(program: Program, flow: Flow) -> str:
    """What is shown as the source of a flow, with its place if that is another script."""
    script, line = program.place(flow.source_line)
    return flow.source if script is program.place(flow.line)[0] else f"{flow.source} ({script.text.path}:{line})"


def may_hold(seen: Sequence[Seen], patterns: Sequence[str]) -> bool:
    """Whether one of these patterns may match in a text, which costs nothing to know."""
    return any(each.may_match(pattern) for each in seen for pattern in patterns)


def holds(program: Program, seen_in: SeenIn, patterns: Sequence[str]) -> bool:
    """Whether one of these patterns matches in a program."""
    return any(_holds(script, seen_in.get(id(script.text), ()), patterns) for script in program.scripts)


def _holds(script: Script, seen: Sequence[Seen], patterns: Sequence[str]) -> bool:
    """Whether one of these patterns matches in a script: in its file, or in one of its blocks."""
    text, blocks = script.text, set(script.blocks)
    return any(
        not blocks or text.regions.fence_at(_place(text, each.text, match.start())) in blocks
        for each in seen
        for pattern in patterns
        for match in each.matches(pattern)
    )


def _place(text: Text, part: Text, offset: int) -> int:
    """Where in a text something stands that was seen in it or in lines of it."""
    return offset if part is text else text.start_of(part.line_at(offset))


def found(program: Program, flow: Flow, source: str, ruleset: Ruleset, purpose: Purpose) -> Finding:
    """A flow as a finding where it ends, with this to be shown as its source."""
    script, line_there = program.place(flow.line)
    text, line = script.text, script.text.origin_of(line_there)
    if flow.kind is FlowKind.UNREAD:
        return unexamined(text.path, f"{source}: {flow.sink}", line)
    rule = ruleset.rule_for(Check(flow.kind))
    confidence = _confidence(rule, flow, text, line_there) * weight_of_purpose(rule, text, purpose)
    excerpt = excerpt_of(f"{source} → {flow.sink}", label=text.label)
    return finding_of(rule, text.path, line, round(confidence, 3), excerpt, _region_of(text))


def _confidence(rule: Rule, flow: Flow, text: Text, line: int) -> float:
    region = _region_of(text).weighed_as
    usual = rule.confidence * (FENCED_FACTOR if region is Region.FENCED else 1)
    excused = any(excuse.search(f"{flow.source} {flow.sink} ".encode()) for excuse in rule.excuses)
    warned = text.is_prose and any(
        fence.is_warned and text.line_at(fence.begin) <= line <= text.line_at(fence.end)
        for fence in text.regions.fences
    )
    factor = (EXCUSED_FACTOR if excused else 1) * (WARNED_FACTOR if warned else 1)
    return rule.confidence_in.get(region, usual) * factor


def _region_of(text: Text) -> Region:
    """Where the scripts of a text stand."""
    return Region.FENCED if text.is_prose else text.region_at(0)
