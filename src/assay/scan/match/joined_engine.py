"""Several engines as one: a few patterns beside the many, without making anew what takes long to make."""

from collections.abc import Mapping, Sequence

from assay.scan.match.matcher import MAX_ENDS, Engine, TooManyMatches

# The number that a pattern has in one engine, and those that patterns searched for alike have in all of them.
Numbers = Mapping[int, Sequence[int]]


class JoinedEngine:
    """What each engine finds, under the numbers that count."""

    def __init__(self, parts: Sequence[tuple[Engine, Numbers]]) -> None:
        self._parts = parts

    def ends(self, text: bytes) -> list[tuple[int, int]]:
        """Where matches may end."""
        found = [
            (number, end)
            for engine, numbers in self._parts
            for known, end in engine.ends(text)
            for number in numbers.get(known, ())
        ]
        if len(found) > MAX_ENDS:
            raise TooManyMatches
        return found
