"""Matching of all patterns against a text, in one pass.

An engine reports candidate ends of matches: Hyperscan for all patterns at once, Python's `re` one pattern after the
other, where Hyperscan is missing or its start-up time does not pay off. `SearchResult` then verifies candidates
exactly, with the same code for both engines, so that results do not depend on the engine. It does so only for patterns
that are requested, because most candidates belong to companion patterns that are never needed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from assay.scan.match.engine import Engine
from assay.scan.pattern import Pattern

# The distance that look-ahead may see past the end of a match, in bytes.
_AHEAD = 120


class SearchResult:
    """The search result of one text, by pattern index."""

    def __init__(self, text: bytes, patterns: Sequence[Pattern], ends: dict[int, list[int]]) -> None:
        self._text = text
        self._patterns = patterns
        self._ends = ends
        self._known: dict[int, list[re.Match[bytes]]] = {}

    @property
    def candidates(self) -> set[int]:
        """The patterns that may match."""
        return set(self._ends)

    def may_match(self, number: int) -> bool:
        """Return true if a pattern may match, without verifying candidates."""
        return number in self._ends

    def ends(self, number: int) -> list[int]:
        """Return the offsets at which matches of a pattern may end."""
        return self._ends.get(number, [])

    def matches(self, number: int) -> list[re.Match[bytes]]:
        """Return all verified matches of a pattern, in order."""
        if number not in self._ends:
            return []
        if number not in self._known:
            self._known[number] = self._exactly(number)
        return self._known[number]

    def _exactly(self, number: int) -> list[re.Match[bytes]]:
        ends = self._ends[number]
        pattern = self._patterns[number]
        ahead = _AHEAD + pattern.width if pattern.extends_beyond_end else _AHEAD
        stretches = _stretches(ends, pattern.width, ahead)
        found = chain.from_iterable(pattern.regex.finditer(self._text, begin, end) for begin, end in stretches)
        # Drop matches that exist only because the searched range ends there.
        if pattern.extends_beyond_end:
            return [match for match in found if _holds(ends, match)]
        known = set(ends)
        return [match for match in found if match.end() in known]


class Matcher:
    """Patterns by index, and the engine that finds candidates for them."""

    def __init__(self, patterns: Sequence[Pattern], engine: Engine) -> None:
        self._patterns = patterns
        self._engine = engine

    def search(self, text: bytes) -> SearchResult:
        """Find all candidates in a text. Raises `TooManyMatches`."""
        ends: dict[int, list[int]] = {}
        for number, end in self._engine.ends(text):
            ends.setdefault(number, []).append(end)
        return SearchResult(text, self._patterns, ends)


def _stretches(ends: list[int], before: int, ahead: int) -> Iterator[tuple[int, int]]:
    """Yield disjoint ranges that contain every match with one of these ends, including its look-ahead."""
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
