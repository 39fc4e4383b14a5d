"""Engine based on Hyperscan, which searches for all patterns in one pass."""

from collections.abc import Sequence
from threading import Lock

import hyperscan

from assay.scan.match.engine import MAX_ENDS, TooManyMatches
from assay.scan.pattern import Pattern

_FLAGS = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_MULTILINE
# Patterns that Hyperscan does not support, such as look-ahead, are searched for approximately.
_LOOSELY = _FLAGS | hyperscan.HS_FLAG_PREFILTER
_ONCE = hyperscan.HS_FLAG_SINGLEMATCH
_LOOKS_AROUND = (b"(?=", b"(?!", b"(?<", b"\\1")


class HyperscanEngine:
    """A compiled database. Compiling takes seconds, loading a saved one milliseconds."""

    def __init__(self, database: hyperscan.Database) -> None:
        self._database = database
        # Hyperscan's scratch space must not be used by two threads at once.
        self._scratch = hyperscan.Scratch(database)
        self._lock = Lock()

    @classmethod
    def compile(cls, patterns: Sequence[Pattern]) -> "HyperscanEngine":
        """Compile a database in which each pattern is identified by its index."""
        database = hyperscan.Database()
        database.compile(
            expressions=[pattern.loose for pattern in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[_flags(pattern) for pattern in patterns],
        )
        return cls(database)

    @classmethod
    def load(cls, saved: bytes) -> "HyperscanEngine":
        """Load a saved database. Raises `hyperscan.HyperscanError` if it was saved on another kind of machine."""
        return cls(hyperscan.loadb(saved, hyperscan.HS_MODE_BLOCK))

    def save(self) -> bytes:
        return bytes(hyperscan.dumpb(self._database))

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []

        def note(number: int, _begin: int, end: int, _flags: int, _context: object) -> bool:
            found.append((number, end))
            return len(found) > MAX_ENDS

        with self._lock:
            try:
                self._database.scan(text, match_event_handler=note, scratch=self._scratch)
            except hyperscan.ScanTerminated as stopped:
                raise TooManyMatches from stopped
        return found


def _flags(pattern: Pattern) -> int:
    flags = _LOOSELY if any(mark in pattern.loose for mark in _LOOKS_AROUND) else _FLAGS
    return flags | _ONCE if pattern.is_probe else flags
