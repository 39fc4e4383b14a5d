"""Regions of a Markdown text, and the contexts that lower the confidence of a match.

An agent reads the raw text, so a region lowers the confidence of a finding but never removes it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from assay.model.finding import Region

_SHOWN = (
    rb"never|do not|don't|must not|mustn't|should not|shouldn't|avoid|refuses?|rejects?|blocks|denies|forbids?"
    rb"|beware|dangerous|unsafe|insecure|malicious|vulnerable|wrong|bad|anti-?patterns?|traces|iocs|victims?"
)
_TOLD = (
    rb"|instead of|rather than|warn|detect|detects|flag|flags|look for|search for|scan for|check for|watch for"
    rb"|suspicious|attacks?|attackers?|red flags?|such as|phrases like|patterns like|e\.g\."
    rb"|payloads?|indicators?|signs? of"
)
_CROSSES = rb"|\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab"
# Not within a host name or a path.
_WARNINGS = {
    in_code: re.compile(rb"(?<![\w./@-])(?:" + words + rb")\b(?![./@-]\w)" + _CROSSES, re.IGNORECASE)
    for in_code, words in ((True, _SHOWN), (False, _SHOWN + _TOLD))
}
# Directly before the match, with at most two words in between. Applies only to prose: hidden text warns no reader.
_NEGATION = re.compile(
    rb"\b(?:never|do not|don't|must not|should not|cannot|avoid|not)\b[*_ ]{1,4}"
    rb"(?:(?!forget|hesitate|fail|neglect|stop|wait)\w{1,12} ){0,2}[*_`\"']{0,3}\Z",
    re.IGNORECASE,
)
_NEGATION_REACH = 48
# In prose, a sentence continues on the next line unless that is empty or starts a list item.
_SENTENCE_ENDS = {
    True: re.compile(rb"[.!?](?=\s)|\n"),
    False: re.compile(rb"[.!?](?=\s)|\n[ \t]{0,12}(?:\n|[-*+|>#]|\d{1,2}[.)])"),
}
# The reach of a warning, in bytes. It never reaches past the end of its sentence.
_WARNING_REACH = 100
_FENCE = re.compile(rb"[ >\t]{0,12}(?:[-*+] |\d{1,3}[.)] )?(`{3,}|~{3,})([^\n`]{0,40})")
_FRONT_MATTER = re.compile(rb"\s{0,8}---[ \t]*\n")
_FRONT_MATTER_END = re.compile(rb"^---[ \t]*$", re.MULTILINE)
# A link reference definition.
_DEFINED = re.compile(rb"[ ]{0,3}\[[^\]\n]{1,80}\]:[ \t]{0,4}\S*\Z")
_LINK_REACH = 500
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
# Backticks are excluded: inline code is a command as often as a quotation.
_QUOTES = b"\"'"
# A bullet or a table row. Quoted text or code in it is one item of several, unless the item starts with an instruction
# to use it. Code in a numbered item is a step.
_ITEM = re.compile(rb"[ \t>]{0,12}(?:[-*+][ \t]{1,4}(?:\[[ x]\][ \t]{1,4})?|\||(?P<step>\d{1,2}[.)][ \t]{1,4}))")
_TOLD_TO = re.compile(
    rb"(?:\A|\|)[ \t*_]{0,4}(?:(?:first|then|next|now|always|also|please|you must|must),?[ ])?"
    rb"(?:run|execute|paste|type|enter|use|install|call|start|launch|open|copy|do|apply|download|fetch|send|set)\b",
    re.IGNORECASE,
)
_LINE_REACH = 500
# Code within a sentence is only mentioned, unless a verb before it tells the reader to use it.
_DONE_WITH = re.compile(
    rb"\b(?:run|execute|paste|type|enter|use|using|install|call|start|launch|open|copy|apply|download|fetch|send|set|do|by)\b",
    re.IGNORECASE,
)
# A value in a data file whose key marks it as one of many samples or patterns.
_SAMPLE = re.compile(
    rb"[\"'](?:text|prompts?|inputs?|payloads?|patterns?|regex|examples?|samples?|cases?|attacks?|tests?|string|message"
    rb"|content|query|expected)[\"']\s{0,4}:\s{0,4}[\"'\[{][^\n]{0,400}\Z"
    rb"|[\"'](?:class|category|technique|label)[\"']\s{0,4}:\s{0,4}[\"']?[^\"'\n]{0,60}\Z"
    # A string of YARA.
    rb"|\A[ \t]{0,12}\$\w{0,40}[ ]{0,8}=[ ]{0,8}(?:[\"'/{][^\n]{0,400})?\Z",
    re.IGNORECASE,
)
# A regular expression literal, up to the match.
_EXPRESSION = re.compile(rb"(?<![\w])(?:r|rb|br)(?P<quote>[\"'])[^\"'\n]{0,300}\Z")
_EXPRESSION_MARKS = (b"|", b"\\s", b"\\b", b"\\w", b"[^", b"(?")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced code block: its offsets, its language, and whether the line above it is a warning."""

    begin: int
    body: int
    end: int
    language: str
    is_warned: bool


@dataclass(frozen=True, slots=True)
class Regions:
    """The front matter, fences and comments of a Markdown text."""

    text: bytes
    front_matter_end: int
    fences: tuple[Fence, ...]
    fence_begins: tuple[int, ...]
    comments: tuple[tuple[int, int], ...]

    def block_at(self, offset: int) -> Region | None:
        """Return the kind of block (fence or comment) at this offset."""
        if self.fence_at(offset):
            return Region.FENCED
        index = bisect_right(self.comments, (offset, len(self.text) + 1)) - 1
        return Region.COMMENT if index >= 0 and offset < self.comments[index][1] else None

    def region_at(self, offset: int) -> Region:
        if block := self.block_at(offset):
            return block
        if offset < self.front_matter_end:
            return Region.FRONT_MATTER
        return Region.LINK if is_in_link(self.text, offset) else Region.PROSE

    def fence_at(self, offset: int) -> Fence | None:
        index = bisect_right(self.fence_begins, offset) - 1
        return self.fences[index] if index >= 0 and offset < self.fences[index].end else None


def regions_of(text: bytes) -> Regions:
    """Split a Markdown text into its regions."""
    comments = tuple(_comments(text)) if b"<!--" in text else ()
    fences = tuple(_fences(text, comments)) if b"```" in text or b"~~~" in text else ()
    return Regions(text, _front_matter_end(text), fences, tuple(fence.begin for fence in fences), comments)


def _comments(text: bytes) -> Iterator[tuple[int, int]]:
    """Yield HTML comments, except those in inline code, which readers see."""
    for match in _COMMENT.finditer(text):
        begin, end = match.span()
        if text[begin - 1 : begin] != b"`" or text[end : end + 1] != b"`" or b"\n" in match[0]:
            yield begin, end


def _front_matter_end(text: bytes) -> int:
    begin = _FRONT_MATTER.match(text)
    end = _FRONT_MATTER_END.search(text, begin.end()) if begin else None
    return end.end() if end else 0


def _fences(text: bytes, comments: tuple[tuple[int, int], ...]) -> list[Fence]:
    found: list[Fence] = []
    opened: re.Match[bytes] | None = None
    for begin in _lines_with_marks(text):
        mark = _FENCE.match(text, begin)
        if mark is None:
            continue
        if opened is None:
            index = bisect_right(comments, (mark.start(), len(text) + 1)) - 1
            if index < 0 or mark.start() >= comments[index][1]:
                opened = mark
        elif mark[1].startswith(opened[1]) and not mark[2].strip():
            found.append(_fence(text, opened, mark.start()))
            opened = None
    if opened is not None:
        found.append(_fence(text, opened, len(text)))
    return found


def _lines_with_marks(text: bytes) -> list[int]:
    """Return the start of each line that contains three backticks or tildes."""
    begins: set[int] = set()
    for mark in (b"```", b"~~~"):
        offset = text.find(mark)
        while offset >= 0:
            begins.add(text.rfind(b"\n", 0, offset) + 1)
            offset = text.find(mark, text.find(b"\n", offset))
    return sorted(begins)


def _fence(text: bytes, opened: re.Match[bytes], end: int) -> Fence:
    above = text[max(0, opened.start() - 2 * _WARNING_REACH) : opened.start()].rstrip()
    introduction = above[above.rfind(b"\n") + 1 :]
    language = opened[2].strip().decode("utf-8", errors="replace").lower()
    body = text.find(b"\n", opened.end()) + 1 or end
    return Fence(opened.start(), body, end, language, is_warned(introduction, len(introduction), in_code=True))


def is_warned(text: bytes, offset: int, *, in_code: bool = False) -> bool:
    """Return true if a warning precedes this offset in the same sentence. In code, only unambiguous warnings count."""
    before = text[max(0, offset - _WARNING_REACH) : offset]
    end = None
    for match in _WARNINGS[in_code].finditer(before):
        end = match.end()
    return end is not None and _SENTENCE_ENDS[in_code].search(before, end) is None


def is_in_link(text: bytes, offset: int) -> bool:
    """Return true if this offset is within the target of a link."""
    reach = max(0, offset - _LINK_REACH)
    line = text[text.rfind(b"\n", reach, offset) + 1 or reach : offset]
    word = line[max(line.rfind(b" "), line.rfind(b"\t")) + 1 :]
    target = word.rfind(b"](")
    if target >= 0 and b")" not in word[target:]:
        return True
    lower = word.lower()
    if b">" not in word and (b"<http" in lower or b"href=" in lower or text[offset - 1 : offset] == b"<"):
        return text[offset : offset + 4].lower() == b"http" or b"http" in lower
    return line.lstrip(b" ").startswith(b"[") and _DEFINED.match(line) is not None


def is_negated(text: bytes, offset: int) -> bool:
    """Return true if "never", "do not" or the like directly precedes this offset."""
    return _NEGATION.search(text[max(0, offset - _NEGATION_REACH) : offset]) is not None


def is_quoted(text: bytes, offset: int) -> bool:
    """Return true if a quotation mark directly precedes this offset."""
    return offset > 0 and text[offset - 1] in _QUOTES


def is_listed(text: bytes, offset: int) -> bool:
    """Return true for quoted text or code in a list item or table row that does not tell the reader to use it."""
    reach = max(0, offset - _LINE_REACH)
    line = text[text.rfind(b"\n", reach, offset) + 1 or reach : offset]
    item = _ITEM.match(line)
    if item is None:
        return False
    text_before = line[item.end() :]
    is_quoted_or_code = text_before.count(b'"') % 2 or (text_before.count(b"`") % 2 and not item["step"])
    return bool(is_quoted_or_code) and _TOLD_TO.search(text_before) is None


def is_block_quoted(text: bytes, offset: int) -> bool:
    """Return true for text in a block quote that the line above introduces with a colon."""
    reach = max(0, offset - _LINE_REACH)
    *above, line = text[reach:offset].split(b"\n")
    if not line.lstrip().startswith(b">"):
        return False
    lines_above = (before for before in map(bytes.strip, reversed(above)) if before and not before.startswith(b">"))
    return next(lines_above, b"").endswith(b":")


def is_mentioned(text: bytes, offset: int) -> bool:
    """Return true for code in a sentence that neither tells the reader to use it nor introduces it with a colon."""
    reach = max(0, offset - _LINE_REACH)
    paragraph = text[text.rfind(b"\n\n", reach, offset) + 1 or reach : offset]
    if paragraph.count(b"`") % 2 == 0:
        return False
    text_before = paragraph[: paragraph.rfind(b"`")].rstrip()
    if text_before.endswith(b":"):
        return False
    end = 0
    for match in _SENTENCE_ENDS[False].finditer(text_before):
        end = match.end()
    return bool(text_before[end:]) and _DONE_WITH.search(text_before, end) is None


def is_sample(text: bytes, offset: int) -> bool:
    """Return true if this is a value among samples or patterns in a data file."""
    reach = max(0, offset - _LINE_REACH)
    return _SAMPLE.search(text[text.rfind(b"\n", reach, offset) + 1 or reach : offset]) is not None


def is_expression(text: bytes, offset: int) -> bool:
    """Return true if this is within a regular expression in a program."""
    reach = max(0, offset - _LINE_REACH)
    begin = text.rfind(b"\n", reach, offset) + 1 or reach
    opened = _EXPRESSION.search(text[begin:offset])
    if opened is None:
        return False
    closed = text.find(opened["quote"], offset, offset + _LINE_REACH)
    whole = text[begin + opened.start() : closed]
    return closed >= 0 and b"\n" not in whole and any(mark in whole for mark in _EXPRESSION_MARKS)
