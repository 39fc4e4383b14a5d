"""Repositories that say of themselves that they hold skills, by topic, in windows of time computed from now."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import structlog

from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, RESULT_CAP, FoundRepository, search_repositories
from assay.model.discovery import Candidate

log = structlog.get_logger()
# GitHub has no repository that is older. There is no such bound at the other end: the last window is open.
BEGINNING = datetime(2008, 1, 1, tzinfo=UTC)
# The index of GitHub's search comes behind; and who is given a topic later has not been pushed to.
OVERLAP = timedelta(days=1)
SWEEP_EVERY = timedelta(days=7)
SHORTEST = timedelta(seconds=2)


@dataclass(frozen=True)
class Window:
    """Repositories of a topic that were last pushed to within a time, from a page on."""

    topic: str
    low: datetime
    high: datetime | None
    page: int = 1

    @classmethod
    def read(cls, written: Sequence[Any]) -> Self:
        """As it was written down."""
        topic, low, high, page = written
        return cls(topic, datetime.fromisoformat(low), datetime.fromisoformat(high) if high else None, page)

    @property
    def written(self) -> list[object]:
        """For a checkpoint."""
        return [self.topic, self.low.isoformat(), self.high.isoformat() if self.high else None, self.page]

    @property
    def query(self) -> str:
        """In GitHub's words."""
        until = f"{_stamp(self.low)}..{_stamp(self.high)}" if self.high else f">={_stamp(self.low)}"
        return f"topic:{self.topic} pushed:{until}"

    def divided(self, now: datetime) -> list[Self]:
        """Two parts that hold together what this one holds; nothing if it is too short."""
        end = self.high or max(now, self.low + 2 * SHORTEST)
        if end - self.low < SHORTEST:
            return []
        middle = (self.low + (end - self.low) / 2).replace(microsecond=0)
        later = replace(self, low=middle + timedelta(seconds=1), page=1)
        return [replace(self, high=middle, page=1), later]


@dataclass(frozen=True)
class Topics:
    """All topics in turn: what was pushed to since the last cycle, and now and then everything."""

    github: GitHub
    cadence: Cadence
    topics: Sequence[str]
    now: Callable[[], datetime]
    name: str = "topics"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of results each."""
        now = self.now()
        state = dict(checkpoint or {})
        windows = [Window.read(each) for each in state.get("windows", [])]
        if not windows:
            is_sweep = "swept_at" not in state or now - datetime.fromisoformat(state["swept_at"]) >= SWEEP_EVERY
            since = BEGINNING if is_sweep else datetime.fromisoformat(state["until"]) - OVERLAP
            swept_at = now.isoformat() if is_sweep else state["swept_at"]
            state = {"until": now.isoformat(), "swept_at": swept_at}
            windows = [Window(topic, since, None) for topic in self.topics]
        while windows:
            window = windows.pop(0)
            meter.spend()
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
                log.warning("Repository search has more than it shows", query=window.query, not_shown=cut)
            yield Page([as_candidate(each) for each in results.hits], state | left, not windows, cut=cut)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether any topic has any repository at all."""
        for topic in self.topics:
            meter.spend()
            if (await search_repositories(self.github, f"topic:{topic}")).total:
                return True
        return False


def as_candidate(found: FoundRepository) -> Candidate:
    """Worth another look if it was pushed to since the last one."""
    return Candidate(found.repository, found.pushed_at)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
