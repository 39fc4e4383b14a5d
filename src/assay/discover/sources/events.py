"""What happens on GitHub right now: pushes to repositories that are known, and new ones that sound like skills."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from assay.discover.source import Cadence, Checkpoint, Meter, Page, TooEarly
from assay.github.client import GitHub
from assay.github.headers import LONGEST_PAUSE_SECONDS
from assay.github.search import (
    EVENT_PAGES,
    PER_PAGE,
    PublicEvent,
    organisation_events,
    person_events,
    poll_events,
)
from assay.model.discovery import Candidate
from assay.model.errors import NotFound, Refused

log = structlog.get_logger()
TELLING = frozenset({"PushEvent", "CreateEvent", "PublicEvent", "ReleaseEvent"})
HINT = "skill"
EVERYWHERE = ""


@dataclass
class Events:
    """Everybody's events, and those of the named organisations and people, from the last one that was seen on.

    One that is gone, or shows us nothing, does not stop the others. No list is asked for earlier than GitHub wants it;
    when that is, goes with the checkpoint.
    """

    github: GitHub
    cadence: Cadence
    owners: Sequence[str]
    now: Callable[[], datetime]
    name: str = "events"
    _has_any: bool | None = field(default=None, init=False)
    _people: set[str] = field(default_factory=set, init=False)

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One list each, as far back as GitHub shows it."""
        state = checkpoint or {}
        seen: dict[str, int] = dict(state.get("seen", {}))
        not_before: dict[str, float] = dict(state.get("not_before", {}))
        due = self._due(not_before)
        for place in due:
            left_out = 0
            try:
                events, pause = await self._news(place, seen.get(place, 0), meter)
            except (NotFound, Refused) as problem:
                if place == EVERYWHERE:
                    raise
                log.warning("The events of an owner cannot be read", owner=place, problem=problem.message)
                events, pause, left_out = [], 0.0, 1
            not_before[place] = self.now().timestamp() + (pause or self.cadence.every_seconds)
            if events:
                seen[place] = max(_number(each) for each in events)
            after = {"seen": dict(seen), "not_before": dict(not_before)}
            yield Page(_candidates(events, place), after, place == due[-1], left_out)

    async def probe(self, _meter: Meter) -> bool | None:
        """Whether anything happens at all: what the run has just seen, since nobody may ask again so soon."""
        return self._has_any

    def _due(self, not_before: Mapping[str, float]) -> list[str]:
        """The places that may be asked now; TooEarly if there is none."""
        now = self.now().timestamp()
        waits = {place: not_before.get(place, 0.0) - now for place in (EVERYWHERE, *self.owners)}
        # More than GitHub ever asks for is left only if the clock was turned back.
        due = [place for place, wait in waits.items() if not 0 < wait <= LONGEST_PAUSE_SECONDS]
        if not due:
            wait = max(1.0, min(waits.values()))
            raise TooEarly(f"GitHub wants its events to be asked for in {wait:.0f} s.", retry_after_seconds=wait)
        return due

    async def _news(self, place: str, last: int, meter: Meter) -> tuple[list[PublicEvent], float]:
        news: list[PublicEvent] = []
        longest = 0.0
        for page in range(1, EVENT_PAGES + 1):
            meter.spend()
            listed, pause = await self._poll(place, page, meter)
            longest = max(longest, pause)
            if (place, page) == (EVERYWHERE, 1):
                self._has_any = bool(listed)
            fresh = [each for each in listed if _number(each) > last]
            news += fresh
            if len(fresh) < PER_PAGE:
                break
        return news, longest

    async def _poll(self, place: str, page: int, meter: Meter) -> tuple[list[PublicEvent], float]:
        """A login is an organisation's or a person's; which of them, GitHub says by not finding the other."""
        if place == EVERYWHERE:
            return await poll_events(self.github, "events", page=page)
        if place not in self._people:
            try:
                return await poll_events(self.github, organisation_events(place), page=page)
            except NotFound:
                meter.spend()
        found = await poll_events(self.github, person_events(place), page=page)
        self._people.add(place)
        return found


def _candidates(events: Sequence[PublicEvent], place: str) -> list[Candidate]:
    """The newest event of each repository counts. People are also seen at work where others are at home."""
    newest: dict[tuple[str, str, str], Candidate] = {}
    for event in sorted(events, key=_number):
        if event.kind in TELLING:
            is_likely = event.repository.owner.lower() == place.lower() or HINT in event.repository.name.lower()
            newest[event.repository.key] = Candidate(event.repository, event.happened_at, known_only=not is_likely)
    return list(newest.values())


def _number(event: PublicEvent) -> int:
    return int(event.id) if event.id.isdecimal() else 0
