"""What every source of discovery is: pages of candidates from a checkpoint, a rhythm, and a question it must answer."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.model.discovery import Candidate
from assay.model.errors import AssayError, RateLimited, Unavailable
from assay.store.discovery.sources import Rhythm

Checkpoint = Mapping[str, Any]
HOUR = 3_600.0
DAY = 24 * HOUR


class BudgetSpent(Exception):
    """A run has made as many calls as it may."""


class TooEarly(RateLimited):
    """Nothing of a source may be asked yet: there is no run to go on with after a wait."""


@dataclass
class Meter:
    """Counts the calls of one run; more than its share of the budget it may not make."""

    limit: int
    used: int = 0

    def spend(self, calls: int = 1) -> None:
        """Before a call is made; raises BudgetSpent if it must not be."""
        if self.used + calls > self.limit:
            raise BudgetSpent(f"The run has made {self.used:,} of its {self.limit:,} calls.")
        self.used += calls

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self.limit - self.used


@dataclass(frozen=True)
class Page:
    """What one call has shown, and where to go on once that is kept. The last page of a cycle says so.

    `left_out` counts what the page names and nobody can follow: another host, a name that is none. `cut` counts what
    the service has and shows to nobody who asks like this.
    """

    candidates: Sequence[Candidate]
    checkpoint: Checkpoint | None
    is_last: bool = False
    left_out: int = 0
    cut: int = 0


class Unread(Unavailable):
    """One place of several cannot be read; `without` is where the source goes on, so that it hides no other."""

    def __init__(self, problem: AssayError, without: Page) -> None:
        super().__init__(problem.message, code=problem.code)
        self.without = without
        # What is not there, or must not be asked, is not there a moment later either.
        self.is_worth_asking_again = type(problem) in (Unavailable, RateLimited)
        self.pause_seconds = problem.retry_after_seconds if isinstance(problem, RateLimited) else None


@dataclass(frozen=True)
class Cadence:
    """How often a source runs, how long a run may take, and within what time it should find something new."""

    every_seconds: float = 6 * HOUR
    timeout_seconds: float = HOUR
    floor_seconds: float = 2 * DAY
    cooldown_seconds: float = 60.0
    # Whether a whole cycle shows everything there is, so that a known answer must be in it.
    shows_all: bool = True


class Source(Protocol):
    """A place where skills can be found."""

    @property
    def name(self) -> str:
        """As people call it."""
        ...

    @property
    def cadence(self) -> Cadence:
        """Its rhythm."""
        ...

    def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """Page by page, from a checkpoint or from the beginning, to the end of the cycle."""
        ...

    async def probe(self, meter: Meter) -> bool | None:
        """Whether a question whose answer is known still gets it; None if there is no such question."""
        ...


def rhythm_of(source: Source) -> Rhythm:
    """What the database needs to know of it."""
    cadence = source.cadence
    return Rhythm(source.name, cadence.every_seconds, cadence.floor_seconds, cadence.shows_all)
