"""Source `topics`: repositories with certain topics, searched in windows of the time of their last push."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import structlog

from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, RESULT_CAP, FoundRepository, search_repositories
from assay.model.discovery import Candidate

log = structlog.get_logger()
# No repository on GitHub is older. The last window has no upper bound.
BEGINNING = datetime(2008, 1, 1, tzinfo=UTC)
# GitHub's search index lags behind. The weekly sweep finds repositories that got a topic without a push.
OVERLAP = timedelta(days=1)
SWEEP_EVERY = timedelta(days=7)
SHORTEST = timedelta(seconds=2)


@dataclass(frozen=True)
class PushWindow:
    """A topic, a time window of the last push, and the next page."""

    topic: str
    low: datetime
    high: datetime | None
    page: int = 1

    @classmethod
    def read(cls, written: Sequence[Any]) -> Self:
        topic, low, high, page = written
        return cls(topic, datetime.fromisoformat(low), datetime.fromisoformat(high) if high else None, page)

    @property
    def written(self) -> list[object]:
        """The form stored in a checkpoint."""
        return [self.topic, self.low.isoformat(), self.high.isoformat() if self.high else None, self.page]

    @property
    def query(self) -> str:
        until = f"{_stamp(self.low)}..{_stamp(self.high)}" if self.high else f">={_stamp(self.low)}"
        return f"topic:{self.topic} pushed:{until}"

    def divided(self, now: datetime) -> list[Self]:
        """Return two windows that together cover the same time; none if it is too short to divide."""
        end = self.high or max(now, self.low + 2 * SHORTEST)
        if end - self.low < SHORTEST:
            return []
        middle = (self.low + (end - self.low) / 2).replace(microsecond=0)
        later = replace(self, low=middle + timedelta(seconds=1), page=1)
        return [replace(self, high=middle, page=1), later]


@dataclass(frozen=True)
class Topics:
    """Searches one topic after another for pushes since the last cycle, and weekly for everything."""

    github: GitHub
    cadence: Cadence
    topics: Sequence[str]
    now: Callable[[], datetime]
    name: str = "topics"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        now = self.now()
        state = dict(checkpoint or {})
        windows = [PushWindow.read(each) for each in state.get("windows", [])]
        if not windows:
            is_sweep = "swept_at" not in state or now - datetime.fromisoformat(state["swept_at"]) >= SWEEP_EVERY
            since = BEGINNING if is_sweep else datetime.fromisoformat(state["until"]) - OVERLAP
            swept_at = now.isoformat() if is_sweep else state["swept_at"]
            state = {"until": now.isoformat(), "swept_at": swept_at}
            windows = [PushWindow(topic, since, None) for topic in self.topics]
        while windows:
            window = windows.pop(0)
            budget.spend()
            results = await search_repositories(self.github, window.query, page=window.page)
            is_too_much = window.page == 1 and (results.total > RESULT_CAP or results.is_incomplete)
            if is_too_much and (parts := window.divided(now)):
                windows[:0] = parts
                continue
            if window.page * PER_PAGE < min(results.total, RESULT_CAP):
                windows.insert(0, replace(window, page=window.page + 1))
            left = {"windows": [each.written for each in windows]} if windows else {}
            beyond = max(0, results.total - RESULT_CAP) if window.page == 1 else 0
            cut = beyond + results.missing(window.page, len(results.hits))
            if cut:
                log.warning("Repository search returned incomplete results", query=window.query, not_shown=cut)
            yield CandidatePage([as_candidate(each) for each in results.hits], state | left, not windows, cut=cut)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether any topic finds a repository."""
        for topic in self.topics:
            budget.spend()
            if (await search_repositories(self.github, f"topic:{topic}")).total:
                return True
        return False


def as_candidate(found: FoundRepository) -> Candidate:
    """Return a candidate that is inspected again if it was pushed to since its last inspection."""
    return Candidate(found.repository, found.pushed_at)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
