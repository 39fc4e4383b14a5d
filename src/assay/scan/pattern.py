"""A pattern: what a rule searches for, in the two dialects in which it is searched.

Patterns run over folded bytes (see `fold.py`). A space stands for any run of white space, also one that wraps a line.
A pattern that begins with common words may say with `(?#)` from where on it is rare; that changes only how fast it is.
"""

import re
from functools import cached_property

from assay.model.errors import Invalid

# No match is longer, so that around the place where one ends this much text is enough to find it exactly.
MAX_MATCH_BYTES = 1024
_SPACE, _SPACES, _MAYBE_SPACES = r"\s{1,16}", r"\s+", r"\s*"
_MAYBE_SPACE = r"\s{0,16}"
# A comment to regular expressions: what stands behind it is rare, so that the fast engine searches for nothing else.
FROM_HERE = "(?#)"
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
        self.text = text
        self.is_probe = is_probe

    @cached_property
    def loose(self) -> bytes:
        """The dialect of the fast engine, which has no use for bounds on white space, and is slower with them."""
        # Nobody looks again at what a probe saw, so it must see the same in either engine.
        if self.is_probe:
            return self._exact
        # A match ends where its rare end does, and whether the rest stands before it is looked at afterwards.
        return _spelled(self.text.rpartition(FROM_HERE)[2], _SPACES, _MAYBE_SPACES)

    @cached_property
    def _exact(self) -> bytes:
        return _spelled(self.text, _SPACE, _MAYBE_SPACE)

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
