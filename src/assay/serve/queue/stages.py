"""The stages of the queue, by what comes out of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.model.submission import State

VERDICTS = frozenset({State.PUBLISHED, State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED})


@dataclass(frozen=True)
class Stage:
    """A part of the way, and the states that count as having come through it."""

    name: str
    brings: frozenset[State]

    def count(self, arrivals: Mapping[State, int]) -> int:
        """How many came through."""
        return sum(arrivals[state] for state in self.brings)


FETCHED = Stage("fetched", frozenset({State.TIER1_SCANNING}))
JUDGED = Stage("judged", VERDICTS)
PUBLISHED = Stage("published", frozenset({State.PUBLISHED}))
REVIEW = Stage("review", frozenset({State.NEEDS_REVIEW}))
REFUSED = Stage("refused", frozenset({State.TIER1_FAILED, State.REJECTED, State.BLOCKED}))
FAILED = Stage("failed", frozenset({State.FAILED}))
STAGES = (FETCHED, JUDGED, PUBLISHED, REVIEW, REFUSED, FAILED)
