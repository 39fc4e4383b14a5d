"""Engines: search for all patterns and report where matches may end."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Protocol

from assay.scan.pattern import Pattern

# A text with more candidate ends is not searched further, and the report says so.
MAX_ENDS = 50_000
# Maps the index of a pattern in one engine to the indexes of all equal patterns in the combined engine.
Numbers = Mapping[int, Sequence[int]]


class TooManyMatches(Exception):
    """The text has more matches than `MAX_ENDS`."""


class Engine(Protocol):
    """Reports where matches may end."""

    def ends(self, text: bytes) -> Sequence[tuple[int, int]]:
        """Return pairs of pattern index and offset. Every match of a pattern ends at one of its offsets or, if it
        extends beyond its rare part, contains one. Raises `TooManyMatches`.
        """
        ...


class RegexEngine:
    """Engine based on Python's `re`, one pattern after the other."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for number, pattern in enumerate(self._patterns):
            found += ((number, match.end()) for match in pattern.regex.finditer(text))
            if len(found) > MAX_ENDS:
                raise TooManyMatches
        return found


class JoinedEngine:
    """Reports the matches of several engines under combined indexes."""

    def __init__(self, parts: Sequence[tuple[Engine, Numbers]]) -> None:
        self._parts = parts

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        found = [
            (number, end)
            for engine, numbers in self._parts
            for known, end in engine.ends(text)
            for number in numbers.get(known, ())
        ]
        if len(found) > MAX_ENDS:
            raise TooManyMatches
        return found


def best_engine(patterns: Sequence[Pattern]) -> Engine:
    """Return the fastest engine available on this platform."""
    if find_spec("hyperscan") is None:
        return RegexEngine(patterns)
    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - optional dependency

    return HyperscanEngine.compile(patterns)
