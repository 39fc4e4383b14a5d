"""Trace: what flows where in the scripts of a text, as findings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from assay.model.finding import Finding, Region
from assay.scan.code_blocks import join_blocks
from assay.scan.examine import EXCUSED_FACTOR, FENCED_FACTOR, WARNED_FACTOR, Seen, finding_of, weight_of_purpose
from assay.scan.excerpt import excerpt_of
from assay.scan.flow import Flow, FlowKind, Language, Reading, read_code
from assay.scan.purpose import Purpose
from assay.scan.region import Fence
from assay.scan.rule import Check, Rule
from assay.scan.ruleset import Pair, Ruleset
from assay.scan.text import Text
from assay.scan.unexamined import unexamined

_LANGUAGES = {
    **dict.fromkeys(("py", "pyw", "python", "python3"), Language.PYTHON),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "shell", "console", "terminal", "shell-session"), Language.SHELL),
    **dict.fromkeys(
        ("js", "mjs", "cjs", "jsx", "ts", "mts", "tsx", "javascript", "typescript", "node"), Language.JAVASCRIPT
    ),
}
# Some readers take these for ends of lines, and the files do not.
_ODD_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
# By which a program is known that was hidden where no name says what it is; a shell takes what is left.
_SIGNS = (
    (
        re.compile(rb"^(?:import|from)[ ]\w|^\s*def[ ]\w+\(|\b__import__\(|\bos\.\w|\bgetattr\(", re.MULTILINE),
        Language.PYTHON,
    ),
    (re.compile(rb"\brequire\(|=>|\b(?:const|let|var)[ ]\w|\bfunction\b.{0,40}\{|\bfetch\("), Language.JAVASCRIPT),
)
_SHEBANGS = ((b"python", Language.PYTHON), (b"node", Language.JAVASCRIPT), (b"sh", Language.SHELL))


@dataclass(frozen=True)
class Script:
    """What is read as one program: a file, or all blocks of one language in a document, on the lines of the text."""

    text: Text
    language: Language
    blocks: Sequence[Fence] = ()

    @cached_property
    def code(self) -> str:
        """Its lines."""
        if self.text.is_prose:
            # What one block sets, the next one uses.
            code = join_blocks(_lines(self.text, self.blocks))
        else:
            code = (self.text.data if self.text.hidden_as else self.text.content).decode("utf-8", errors="replace")
        return code.replace("\r\n", "\n").translate(_ODD_LINE_ENDS)

    @cached_property
    def reading(self) -> Reading:
        """What flows in it, and what it leaves in files."""
        return read_code(self.language, self.code)


class Scripts:
    """The programs of each text, taken apart when somebody asks for them, and once."""

    def __init__(self) -> None:
        self._known: dict[int, list[Script]] = {}

    def of(self, text: Text) -> list[Script]:
        """Every program in a text, which lives as long as this."""
        if id(text) not in self._known:
            self._known[id(text)] = _scripts_of(text)
        return self._known[id(text)]


def _scripts_of(text: Text) -> list[Script]:
    if not text.is_prose:
        language = _language_of(text)
        return [Script(text, language)] if language else []
    blocks: dict[Language, list[Fence]] = {}
    for fence in text.regions.fences:
        if language := _LANGUAGES.get(fence.language.partition(" ")[0]):
            blocks.setdefault(language, []).append(fence)
    return [Script(text, language, blocks[language]) for language in Language if language in blocks]


def trace(text: Text, seen: Sequence[Seen], scripts: Scripts, ruleset: Ruleset, purpose: Purpose) -> Iterator[Finding]:
    """What harmful flows there are in the scripts of a text, where something hints at one."""
    if not any(_is_hinted(seen, pair) for pair in ruleset.traced):
        return
    for script in scripts.of(text):
        if script.blocks and not any(all(holds(script, seen, end) for end in pair) for pair in ruleset.traced):
            continue
        for flow in script.reading.flows:
            yield found(text, flow, flow.source, ruleset, purpose)


def _is_hinted(seen: Sequence[Seen], pair: Pair) -> bool:
    # Whether there may be a match costs nothing to know.
    hinted = [[each for each in seen if any(map(each.may_match, patterns))] for patterns in pair]
    return all(hinted) and all(
        any(each.matches(pattern) for each in some for pattern in patterns)
        for some, patterns in zip(hinted, pair, strict=True)
    )


def holds(script: Script, seen: Sequence[Seen], patterns: Sequence[str]) -> bool:
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


def _lines(text: Text, fences: Sequence[Fence]) -> Iterator[tuple[int, str]]:
    lines = text.content.split(b"\n")
    for fence in fences:
        first, last = text.line_at(fence.body), text.line_at(fence.end)
        yield first, b"\n".join(lines[first - 1 : last - 1]).decode("utf-8", errors="replace")


def found(text: Text, flow: Flow, source: str, ruleset: Ruleset, purpose: Purpose) -> Finding:
    """A flow as a finding, with this to be shown as its source."""
    line = text.origin_of(flow.line)
    if flow.kind is FlowKind.UNREAD:
        return unexamined(text.path, f"{source}: {flow.sink}", line)
    rule = ruleset.rule_for(Check(flow.kind))
    confidence = _confidence(rule, flow, text) * weight_of_purpose(rule, text, purpose)
    excerpt = excerpt_of(f"{source} → {flow.sink}", label=text.label)
    return finding_of(rule, text.path, line, round(confidence, 3), excerpt, _region_of(text))


def _confidence(rule: Rule, flow: Flow, text: Text) -> float:
    region = _region_of(text).weighed_as
    usual = rule.confidence * (FENCED_FACTOR if region is Region.FENCED else 1)
    excused = any(excuse.search(f"{flow.source} {flow.sink} ".encode()) for excuse in rule.excuses)
    warned = text.is_prose and any(
        fence.is_warned and text.line_at(fence.begin) <= flow.line <= text.line_at(fence.end)
        for fence in text.regions.fences
    )
    factor = (EXCUSED_FACTOR if excused else 1) * (WARNED_FACTOR if warned else 1)
    return rule.confidence_in.get(region, usual) * factor


def _region_of(text: Text) -> Region:
    """Where the scripts of a text stand."""
    return Region.FENCED if text.is_prose else text.region_at(0)


def _language_of(text: Text) -> Language | None:
    known = _LANGUAGES.get(PurePosixPath(text.path).suffix.lower().removeprefix("."))
    if text.hidden_as and known is None:
        return next((language for sign, language in _SIGNS if sign.search(text.data)), Language.SHELL)
    if known or not text.data.startswith(b"#!"):
        return known
    first = text.data[: text.data.find(b"\n")]
    return next((language for mark, language in _SHEBANGS if mark in first), None)
