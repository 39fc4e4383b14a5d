"""Where in a file a line stands, and how that changes what a match on it tells us.

An agent reads the raw text, so context makes us less sure of a finding and never removes it.
"""

import re
from bisect import bisect_right
from enum import StrEnum

_WARNING = re.compile(
    r"\b(?:never|do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|avoid|refuse|reject|block"
    r"|instead of|rather than|beware|warn|detect|flag|flags|look for|search for|scan for|check for|watch for"
    r"|dangerous|unsafe|insecure|malicious|suspicious|vulnerable|attacks?|attackers?|red flags?|anti-?patterns?"
    r"|such as|phrases like|patterns like)\b|❌|⛔|🚫",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n]")
# A warning reaches this far, and never past the end of its sentence.
_WARNING_REACH = 100
_FENCE = re.compile(r"^[ >\t]{0,12}(?:[-*+] |\d{1,3}[.)] )?(`{3,}|~{3,})")
# A backtick is not among them: what stands in inline code is a command as often as a quotation.
_QUOTES = "\"'“”‘’«„"


class Context(StrEnum):
    """Where a line stands."""

    SCRIPT = "script"
    PROSE = "prose"
    FENCED = "fenced"
    COMMENT = "comment"


# What is fenced is shown more often than it is meant; what is warned of is meant least.
FENCED_FACTOR = 0.7
WARNED_FACTOR = 0.3
QUOTED_FACTOR = 0.4
EXCUSED_FACTOR = 0.4


def contexts_of(lines: list[str]) -> tuple[list[Context], list[bool]]:
    """For each line of a Markdown text its context, and whether it is fenced below a line that warns of it."""
    contexts: list[Context] = []
    warned: list[bool] = []
    fence = introduction = ""
    fence_warned = in_comment = False
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            contexts.append(Context.FENCED)
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \t\r"):
                fence = ""
        elif mark and not in_comment:
            fence = mark[1]
            fence_warned = _ends_in_warning(introduction)
            contexts.append(Context.FENCED)
        else:
            contexts.append(Context.COMMENT if in_comment or "<!--" in line else Context.PROSE)
            in_comment = _still_open(line, in_comment)
            introduction = line if line.strip() else introduction
        warned.append(contexts[-1] is Context.FENCED and fence_warned)
    return contexts, warned


def warnings_in(text: str) -> list[int]:
    """Where in a text each word of warning ends."""
    return [match.end() for match in _WARNING.finditer(text)]


def is_warned(text: str, warnings: list[int], offset: int) -> bool:
    """Whether a warning stands before this offset, near by and in the same sentence."""
    position = bisect_right(warnings, offset)
    if position == 0 or offset - warnings[position - 1] > _WARNING_REACH:
        return False
    return _SENTENCE_END.search(text, warnings[position - 1], offset) is None


def is_quoted(text: str, offset: int) -> bool:
    """Whether what begins at this offset stands right behind a quotation mark."""
    return offset > 0 and text[offset - 1] in _QUOTES


def _ends_in_warning(line: str) -> bool:
    end = line[-2 * _WARNING_REACH :].rstrip()
    return is_warned(end, warnings_in(end), len(end))


def _still_open(line: str, in_comment: bool) -> bool:
    opened, closed = line.rfind("<!--"), line.rfind("-->")
    return opened > closed if opened >= 0 or closed >= 0 else in_comment
