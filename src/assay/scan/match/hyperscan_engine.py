"""Hyperscan: every pattern at once, at the speed of memory."""

from collections.abc import Sequence
from threading import Lock

import hyperscan

from assay.scan.match.matcher import MAX_ENDS, TooManyMatches
from assay.scan.pattern import Pattern

_FLAGS = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_MULTILINE
# What cannot be said in the engine's own language, such as looking ahead, is searched for without it.
_LOOSELY = _FLAGS | hyperscan.HS_FLAG_PREFILTER
_ONCE = hyperscan.HS_FLAG_SINGLEMATCH
_LOOKS_AROUND = (b"(?=", b"(?!", b"(?<", b"\\1")


class HyperscanEngine:
    """A compiled database; building one takes seconds, reading a saved one milliseconds."""

    def __init__(self, database: hyperscan.Database) -> None:
        self._database = database
        # The engine works in one space of its own, which two threads may not use at once.
        self._scratch = hyperscan.Scratch(database)
        self._lock = Lock()

    @classmethod
    def compile(cls, patterns: Sequence[Pattern]) -> "HyperscanEngine":
        """Build the database for these patterns, whose numbers are their places."""
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
        """The database that `save` made on a machine like this. Raises `hyperscan.HyperscanError` for any other."""
        return cls(hyperscan.loadb(saved, hyperscan.HS_MODE_BLOCK))

    def save(self) -> bytes:
        """The database, to be read again."""
        return bytes(hyperscan.dumpb(self._database))

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        """Where matches end."""
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
