"""The matcher: all patterns over one text in one pass.

Two engines say where matches end. Hyperscan does it at the speed of memory for all patterns at once; Python's own
regular expressions do it one by one, where there is no wheel of Hyperscan or its start is not worth the wait. What a
match is, is decided in one place for both, so that their results are the same; and only for patterns that are asked
for, because most candidates belong to companions that nobody needs.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol

from assay.scan.pattern import Pattern

# More ends than this in one text are a flood: the rest is not looked at, and the report says so.
MAX_ENDS = 50_000
# Look-ahead may see this far past the end of a match.
_AHEAD = 120


class TooManyMatches(Exception):
    """A text was made of matches."""


class Engine(Protocol):
    """Says where matches may end."""

    def ends(self, text: bytes) -> Sequence[tuple[int, int]]:
        """Pairs of a pattern's number and an offset; every match of a pattern ends at one of its offsets or, where it
        goes on behind its rare stretch, holds one. Raises `TooManyMatches`.
        """
        ...


class Found:
    """What was found in one text, by the number of the pattern."""

    def __init__(self, text: bytes, patterns: Sequence[Pattern], ends: dict[int, list[int]]) -> None:
        self._text = text
        self._patterns = patterns
        self._ends = ends
        self._known: dict[int, list[re.Match[bytes]]] = {}

    @property
    def candidates(self) -> set[int]:
        """The patterns that may have a match."""
        return set(self._ends)

    def may_match(self, number: int) -> bool:
        """Whether a pattern may have a match, which costs nothing to know."""
        return number in self._ends

    def ends(self, number: int) -> list[int]:
        """Where matches of a pattern may end."""
        return self._ends.get(number, [])

    def matches(self, number: int) -> list[re.Match[bytes]]:
        """All matches of a pattern, in order."""
        if number not in self._ends:
            return []
        if number not in self._known:
            self._known[number] = self._exactly(number)
        return self._known[number]

    def _exactly(self, number: int) -> list[re.Match[bytes]]:
        ends = self._ends[number]
        pattern = self._patterns[number]
        ahead = _AHEAD + pattern.width if pattern.goes_on else _AHEAD
        stretches = _stretches(ends, pattern.width, ahead)
        found = chain.from_iterable(pattern.regex.finditer(self._text, begin, end) for begin, end in stretches)
        # What only looks like a match because the stretch ends there is none.
        if pattern.goes_on:
            return [match for match in found if _holds(ends, match)]
        known = set(ends)
        return [match for match in found if match.end() in known]


class Matcher:
    """Patterns by number, and the engine that finds candidates for them."""

    def __init__(self, patterns: Sequence[Pattern], engine: Engine) -> None:
        self._patterns = patterns
        self._engine = engine

    def search(self, text: bytes) -> Found:
        """All that may match in a text. Raises `TooManyMatches`."""
        ends: dict[int, list[int]] = {}
        for number, end in self._engine.ends(text):
            ends.setdefault(number, []).append(end)
        return Found(text, self._patterns, ends)


class RegexEngine:
    """Python's regular expressions, one pattern after the other."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        """Where matches end."""
        found: list[tuple[int, int]] = []
        for number, pattern in enumerate(self._patterns):
            found += ((number, match.end()) for match in pattern.regex.finditer(text))
            if len(found) > MAX_ENDS:
                raise TooManyMatches
        return found


def _stretches(ends: list[int], before: int, ahead: int) -> Iterator[tuple[int, int]]:
    """Disjoint stretches that hold every match with one of these offsets, whole, and what it looks at behind itself."""
    ends.sort()
    begin, last = max(0, ends[0] - before), ends[0]
    for end in ends:
        if end - before > last + ahead:
            yield begin, last + ahead
            begin = end - before
        last = end
    yield begin, last + ahead


def _holds(ends: list[int], match: re.Match[bytes]) -> bool:
    place = bisect_right(ends, match.start())
    return place < len(ends) and ends[place] <= match.end()
