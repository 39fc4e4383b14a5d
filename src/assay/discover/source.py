"""The interface of discovery sources: pages of candidates from a checkpoint, an interval, and a probe."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.model.discovery import Candidate
from assay.model.errors import AssayError, RateLimited, Unavailable
from assay.store.discovery.sources import SourceSchedule

Checkpoint = Mapping[str, Any]
HOUR = 3_600.0
DAY = 24 * HOUR


class BudgetSpent(Exception):
    """A run has used up its call budget."""


class PollTooEarly(RateLimited):
    """No part of a source may be polled yet; the run ends instead of waiting."""


@dataclass
class RunCallBudget:
    """The number of calls that one run may make."""

    limit: int
    used: int = 0

    def spend(self, calls: int = 1) -> None:
        """Count calls before they are made; raise BudgetSpent if they exceed the limit."""
        if self.used + calls > self.limit:
            raise BudgetSpent(f"The run used {self.used:,} of its {self.limit:,} calls.")
        self.used += calls

    @property
    def left(self) -> int:
        return self.limit - self.used


@dataclass(frozen=True)
class CandidatePage:
    """The candidates of one call, and the checkpoint to continue from once they are stored.

    `left_out` counts entries that name no repository on an accepted host. `cut` counts results that the service has
    but does not return for this query.
    """

    candidates: Sequence[Candidate]
    checkpoint: Checkpoint | None
    is_last: bool = False
    left_out: int = 0
    cut: int = 0


class PartUnavailable(Unavailable):
    """One of several parts of a source cannot be read; `skip_to` is the page to continue from without it."""

    def __init__(self, problem: AssayError, skip_to: CandidatePage) -> None:
        super().__init__(problem.message, code=problem.code)
        self.skip_to = skip_to
        # Missing or refused parts stay so for longer than a retry.
        self.is_retryable = type(problem) in (Unavailable, RateLimited)
        self.pause_seconds = problem.retry_after_seconds if isinstance(problem, RateLimited) else None


@dataclass(frozen=True)
class Cadence:
    """Interval and time limit of a source, and the time within which it should find something new."""

    every_seconds: float = 6 * HOUR
    timeout_seconds: float = HOUR
    floor_seconds: float = 2 * DAY
    cooldown_seconds: float = 60.0
    # True if a whole cycle lists everything, so that known repositories must be in it.
    shows_all: bool = True


class DiscoverySource(Protocol):
    """A service or list that names repositories with skills."""

    @property
    def name(self) -> str: ...

    @property
    def cadence(self) -> Cadence: ...

    def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        """Yield pages from a checkpoint, or from the beginning, to the end of the cycle."""
        ...

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether a query with a known result still returns it; None if there is no such query."""
        ...


def schedule_of(source: DiscoverySource) -> SourceSchedule:
    cadence = source.cadence
    return SourceSchedule(source.name, cadence.every_seconds, cadence.floor_seconds, cadence.shows_all)
