"""A pattern: what a rule searches for, in the two dialects in which it is searched.

Patterns run over folded bytes (see `fold.py`). A space stands for any run of white space, also one that wraps a line.
A pattern of common words may say with `(?#)` from where on it is rare, and with a second one up to where; that changes
only how fast it is.
"""

import re
from functools import cached_property

from assay.model.errors import Invalid
from assay.scan.match.width import width_of

# No match is longer, so that around the place where one ends this much text is enough to find it exactly.
MAX_MATCH_BYTES = 1024
_SPACE, _SPACES, _MAYBE_SPACES = r"\s{1,16}", r"\s+", r"\s*"
_MAYBE_SPACE = r"\s{0,16}"
# A comment to regular expressions: what stands behind it, up to the next one, is rare, so that the fast engine searches
# for nothing else.
RARE = "(?#)"
_MARKS = 2
_AGAIN = b"\\1"
_FLAGS = re.IGNORECASE | re.MULTILINE

# With escapes, character classes and group prefixes blotted out, a pattern shows its repeats and nothing else.
_NOT_A_REPEAT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}|\)\{")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<maybe>\\s\?)|(?P<space>\\s(?![?{]| ?\*)| )|\\.|[^\[\\ ]+|.", re.DOTALL
)


class Pattern:
    """One regular expression, compiled when it is first needed."""

    def __init__(self, text: str, *, is_probe: bool = False) -> None:
        """Of a probe one end is enough. Raises `Invalid` if hostile text could make the pattern stall."""
        if _UNBOUNDED.search(_NOT_A_REPEAT.sub("·", text)):
            raise Invalid(f"every repeat must be bounded and no group repeated: {text}")
        if any(not each.isascii() for each in _CLASS.findall(text)):
            # In bytes such a class would match parts of letters.
            raise Invalid(f"a character class may hold only ASCII: {text}")
        if text.count(RARE) > _MARKS:
            raise Invalid(f"one stretch of a pattern is its rare one: {text}")
        self.text = text
        self.is_probe = is_probe

    @property
    def goes_on(self) -> bool:
        """Whether a match goes on behind the end that the fast engine sees."""
        return self.text.count(RARE) == _MARKS

    @cached_property
    def loose(self) -> bytes:
        """The dialect of the fast engine, which has no use for bounds on white space, and is slower with them."""
        # Nobody looks again at what a probe saw, so it must see the same in either engine.
        if self.is_probe:
            return self._exact
        # Whether the rest stands around its rare stretch is looked at afterwards.
        rare = self.text.split(RARE)[1] if RARE in self.text else self.text
        return _spelled(rare, _SPACES, _MAYBE_SPACES)

    @cached_property
    def _exact(self) -> bytes:
        return _spelled(self.text, _SPACE, _MAYBE_SPACE)

    @cached_property
    def width(self) -> int:
        """How long its longest match may be."""
        # What stands there once more is as long as it happens to be.
        return MAX_MATCH_BYTES if _AGAIN in self._exact else width_of(self._exact)

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The exact dialect, compiled. Raises `Invalid` if it is no regular expression."""
        try:
            return re.compile(self._exact, _FLAGS)
        except re.error as error:
            raise Invalid(f"not a regular expression ({error}): {self.text}") from error


def _spelled(text: str, space: str, maybe_space: str) -> bytes:
    return _TOKEN.sub(lambda token: _token(token, space, maybe_space), text).encode()


def _token(token: re.Match[str], space: str, maybe_space: str) -> str:
    if token["maybe"]:
        return maybe_space
    return space if token["space"] else token[0]
