"""Patterns of rules, in two spellings: one for the fast engine and an exact one for Python's `re`.

Patterns run over folded bytes (see `text/fold.py`). A space matches any run of white space, including a line break.
A pattern of common words may mark its rare part with `(?#)` before it and a second `(?#)` after it, which changes
only the speed of the search.
"""

import re
from functools import cached_property

from assay.model.errors import Invalid

# The longest possible match, and therefore the amount of text around an end that is needed to find the match exactly.
MAX_MATCH_BYTES = 1024
_SPACE, _SPACES, _MAYBE_SPACES = r"\s{1,16}", r"\s+", r"\s*"
_MAYBE_SPACE = r"\s{0,16}"
# An empty regex comment that marks the rare part of a pattern. The fast engine searches only for that part.
RARE = "(?#)"
_MARKS = 2
_AGAIN = b"\\1"
_FLAGS = re.IGNORECASE | re.MULTILINE

# Blanking escapes, character classes and group prefixes leaves only the repeats of a pattern.
_NOT_A_REPEAT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}|\)\{")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<maybe>\\s\?)|(?P<space>\\s(?![?{]| ?\*)| )|\\.|[^\[\\ ]+|.", re.DOTALL
)
# A repeat, given that all repeats are bounded.
_REPEAT = re.compile(rb"\?|\{(?:\d+,)?(\d+)\}")
_ESCAPE = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|.)", re.DOTALL)
_BYTE_CLASS = re.compile(rb"\[\^?\]?(?:\\.|[^\]\\])*\]")
# Look-around and comments.
_NO_WIDTH = re.compile(rb"\(\?(?:[=!#]|<[=!])")
_GROUP = re.compile(rb"\((?:\?[imsx-]*:|\?P<\w+>)?")
_PLACES = (b"\\b", b"\\B", b"\\A", b"\\Z")


class Pattern:
    """One regular expression, compiled on first use."""

    def __init__(self, text: str, *, is_probe: bool = False) -> None:
        """Raise `Invalid` if hostile text could make the pattern stall. For a probe, one end of a match is enough."""
        if _UNBOUNDED.search(_NOT_A_REPEAT.sub("·", text)):
            raise Invalid(f"Every repeat must be bounded, and groups must not be repeated: {text}")
        if any(not each.isascii() for each in _CLASS.findall(text)):
            # Compiled to bytes, such a class would match parts of letters.
            raise Invalid(f"A character class may contain only ASCII characters: {text}")
        if text.count(RARE) > _MARKS:
            raise Invalid(f"A pattern may mark only one rare part: {text}")
        self.text = text
        self.is_probe = is_probe

    @property
    def extends_beyond_end(self) -> bool:
        """Return true if a match extends beyond the end that the fast engine reports."""
        return self.text.count(RARE) == _MARKS

    @cached_property
    def loose(self) -> bytes:
        """The spelling for the fast engine, which is slower with bounds on white space and does not need them."""
        # Matches of a probe are not verified, so both engines must find the same ones.
        if self.is_probe:
            return self._exact
        # The text around the rare part is verified later, by `regex`.
        rare = self.text.split(RARE)[1] if RARE in self.text else self.text
        return _spelled(rare, _SPACES, _MAYBE_SPACES)

    @cached_property
    def _exact(self) -> bytes:
        return _spelled(self.text, _SPACE, _MAYBE_SPACE)

    @cached_property
    def width(self) -> int:
        """The length of the longest possible match, in bytes."""
        # A back-reference is as long as the group that it repeats.
        return MAX_MATCH_BYTES if _AGAIN in self._exact else width_of(self._exact)

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The exact spelling, compiled. Raises `Invalid` if it is not a regular expression."""
        try:
            return re.compile(self._exact, _FLAGS)
        except re.error as error:
            raise Invalid(f"Not a regular expression ({error}): {self.text}") from error


def _spelled(text: str, space: str, maybe_space: str) -> bytes:
    return _TOKEN.sub(lambda token: _token(token, space, maybe_space), text).encode()


def _token(token: re.Match[str], space: str, maybe_space: str) -> str:
    if token["maybe"]:
        return maybe_space
    return space if token["space"] else token[0]


def width_of(regex: bytes) -> int:
    """Return the length of the longest match, in bytes. Every repeat must be bounded."""
    width, end = _branches(regex, 0)
    assert end == len(regex)
    return width


def _branches(regex: bytes, place: int) -> tuple[int, int]:
    """Return the width from here to the end of the group, and the position of that end."""
    widest = width = 0
    while place < len(regex) and regex[place] != ord(")"):
        if regex[place] == ord("|"):
            widest, width, place = max(widest, width), 0, place + 1
            continue
        one, place = _item(regex, place)
        repeat = _REPEAT.match(regex, place)
        if repeat:
            one, place = one * int(repeat[1] or 1), repeat.end()
            # Lazy repeat.
            place += regex[place : place + 1] == b"?"
        width += one
    return max(widest, width), place


def _item(regex: bytes, place: int) -> tuple[int, int]:
    if regex[place] == ord("("):
        around = _NO_WIDTH.match(regex, place)
        group = around or _GROUP.match(regex, place)
        assert group
        width, end = _branches(regex, group.end())
        return 0 if around else width, end + 1
    if escape := _ESCAPE.match(regex, place):
        return int(escape[0] not in _PLACES), escape.end()
    if characters := _BYTE_CLASS.match(regex, place):
        return 1, characters.end()
    return int(regex[place] not in b"^$"), place + 1
