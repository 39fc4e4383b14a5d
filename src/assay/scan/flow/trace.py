"""Findings for flows within a program."""

from collections.abc import Iterator, Mapping, Sequence

from assay.model.finding import Finding, Region
from assay.scan.checks.purpose import SkillPurpose
from assay.scan.checks.unexamined import unexamined
from assay.scan.flow.flow import Flow, FlowKind
from assay.scan.flow.program import Program
from assay.scan.flow.script import Script
from assay.scan.match.confidence import (
    EXCUSED_FACTOR,
    FENCED_FACTOR,
    WARNED_FACTOR,
    SearchedText,
    finding_of,
    weight_of_purpose,
)
from assay.scan.rule import Check, Rule
from assay.scan.ruleset import Ruleset
from assay.scan.text.excerpt import excerpt_of
from assay.scan.text.text import Text

# Search results by the id of their text.
SearchedTexts = Mapping[int, Sequence[SearchedText]]


def trace(
    program: Program, searched_texts: SearchedTexts, ruleset: Ruleset, purpose: SkillPurpose
) -> Iterator[Finding]:
    """Yield the harmful flows of a program, if patterns of a source and a sink match in it."""
    if any(all(matches_in(program, searched_texts, end) for end in pair) for pair in ruleset.traced):
        for flow in program.analysis.flows:
            yield flow_finding(program, flow, _source(program, flow), ruleset, purpose)


def _source(program: Program, flow: Flow) -> str:
    """Return the source of a flow, with its location if that is in another script."""
    script, line = program.locate(flow.source_line)
    return flow.source if script is program.locate(flow.line)[0] else f"{flow.source} ({script.text.path}:{line})"


def may_match_in(searched: Sequence[SearchedText], patterns: Sequence[str]) -> bool:
    """Return true if one of these patterns may match in a text, without verifying candidates."""
    return any(each.may_match(pattern) for each in searched for pattern in patterns)


def matches_in(program: Program, searched_texts: SearchedTexts, patterns: Sequence[str]) -> bool:
    """Return true if one of these patterns matches in a program."""
    return any(_holds(script, searched_texts.get(id(script.text), ()), patterns) for script in program.scripts)


def _holds(script: Script, searched: Sequence[SearchedText], patterns: Sequence[str]) -> bool:
    """Return true if one of these patterns matches in a script: in its file, or in one of its blocks."""
    text, blocks = script.text, set(script.blocks)
    return any(
        not blocks or text.regions.fence_at(_offset_in(text, each.text, match.start())) in blocks
        for each in searched
        for pattern in patterns
        for match in each.matches(pattern)
    )


def _offset_in(text: Text, part: Text, offset: int) -> int:
    """Map an offset in a derived text to the text that its lines come from."""
    return offset if part is text else text.start_of(part.line_at(offset))


def flow_finding(program: Program, flow: Flow, source: str, ruleset: Ruleset, purpose: SkillPurpose) -> Finding:
    """Turn a flow into a finding at the line of its sink."""
    script, line_there = program.locate(flow.line)
    text, line = script.text, script.text.origin_of(line_there)
    if flow.kind is FlowKind.UNREAD:
        return unexamined(text.path, f"{source}: {flow.sink}", line)
    rule = ruleset.rule_for(Check(flow.kind))
    confidence = _confidence(rule, flow, text, line_there) * weight_of_purpose(rule, text, purpose)
    excerpt = excerpt_of(f"{source} → {flow.sink}", label=text.label)
    return finding_of(rule, text.path, line, round(confidence, 3), excerpt, _region_of(text))


def _confidence(rule: Rule, flow: Flow, text: Text, line: int) -> float:
    region = _region_of(text).scored_as
    usual = rule.confidence * (FENCED_FACTOR if region is Region.FENCED else 1)
    excused = any(excuse.search(f"{flow.source} {flow.sink} ".encode()) for excuse in rule.excuses)
    warned = text.is_prose and any(
        fence.is_warned and text.line_at(fence.begin) <= line <= text.line_at(fence.end)
        for fence in text.regions.fences
    )
    factor = (EXCUSED_FACTOR if excused else 1) * (WARNED_FACTOR if warned else 1)
    return rule.confidence_in.get(region, usual) * factor


def _region_of(text: Text) -> Region:
    """Return the region of the scripts in a text."""
    return Region.FENCED if text.is_prose else text.region_at(0)
