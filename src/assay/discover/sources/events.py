"""Source `events`: public GitHub events about known repositories, and about new ones whose name contains "skill"."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from assay.discover.source import Cadence, CandidatePage, Checkpoint, PollTooEarly, RunCallBudget
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
RELEVANT_EVENTS = frozenset({"PushEvent", "CreateEvent", "PublicEvent", "ReleaseEvent"})
HINT = "skill"
ALL_OWNERS = ""


@dataclass
class Events:
    """All public events, and those of the configured organisations and people, since the last event seen.

    An owner that is missing or refuses access does not affect the others. No list is polled earlier than GitHub
    allows; the earliest times are part of the checkpoint.
    """

    github: GitHub
    cadence: Cadence
    owners: Sequence[str]
    now: Callable[[], datetime]
    name: str = "events"
    _has_any: bool | None = field(default=None, init=False)
    _people: set[str] = field(default_factory=set, init=False)

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        """Yield one page per event list, as far back as GitHub returns it."""
        state = checkpoint or {}
        seen: dict[str, int] = dict(state.get("seen", {}))
        not_before: dict[str, float] = dict(state.get("not_before", {}))
        due = self._due(not_before)
        for login in due:
            left_out = 0
            try:
                events, pause = await self._new_events(login, seen.get(login, 0), budget)
            except (NotFound, Refused) as error:
                if login == ALL_OWNERS:
                    raise
                log.warning("Failed to read the events of an owner", owner=login, error=error.message)
                events, pause, left_out = [], 0.0, 1
            not_before[login] = self.now().timestamp() + (pause or self.cadence.every_seconds)
            if events:
                seen[login] = max(_number(each) for each in events)
            after = {"seen": dict(seen), "not_before": dict(not_before)}
            yield CandidatePage(_candidates(events, login), after, login == due[-1], left_out)

    async def probe(self, _budget: RunCallBudget) -> bool | None:
        """Return whether the run just saw any event at all, since GitHub does not allow another poll so soon."""
        return self._has_any

    def _due(self, not_before: Mapping[str, float]) -> list[str]:
        """Return the owners whose events may be polled now; raise PollTooEarly if there is none."""
        now = self.now().timestamp()
        waits = {login: not_before.get(login, 0.0) - now for login in (ALL_OWNERS, *self.owners)}
        # A wait longer than GitHub's maximum means that the local clock was set back.
        due = [login for login, wait in waits.items() if not 0 < wait <= LONGEST_PAUSE_SECONDS]
        if not due:
            wait = max(1.0, min(waits.values()))
            raise PollTooEarly(f"GitHub allows the next poll of events in {wait:.0f} s.", retry_after_seconds=wait)
        return due

    async def _new_events(self, login: str, last: int, budget: RunCallBudget) -> tuple[list[PublicEvent], float]:
        events: list[PublicEvent] = []
        longest = 0.0
        for page in range(1, EVENT_PAGES + 1):
            budget.spend()
            listed, pause = await self._poll(login, page, budget)
            longest = max(longest, pause)
            if (login, page) == (ALL_OWNERS, 1):
                self._has_any = bool(listed)
            fresh = [each for each in listed if _number(each) > last]
            events += fresh
            if len(fresh) < PER_PAGE:
                break
        return events, longest

    async def _poll(self, login: str, page: int, budget: RunCallBudget) -> tuple[list[PublicEvent], float]:
        """Poll the events of a login: an organisation's, or, if GitHub finds none, a person's."""
        if login == ALL_OWNERS:
            return await poll_events(self.github, "events", page=page)
        if login not in self._people:
            try:
                return await poll_events(self.github, organisation_events(login), page=page)
            except NotFound:
                budget.spend()
        found = await poll_events(self.github, person_events(login), page=page)
        self._people.add(login)
        return found


def _candidates(events: Sequence[PublicEvent], login: str) -> list[Candidate]:
    """Return one candidate per repository, from its newest event.

    Events of a person may be in repositories of other owners; those count only if known or named like a skill.
    """
    newest: dict[tuple[str, str, str], Candidate] = {}
    for event in sorted(events, key=_number):
        if event.kind in RELEVANT_EVENTS:
            is_likely = event.repository.owner.lower() == login.lower() or HINT in event.repository.name.lower()
            newest[event.repository.key] = Candidate(event.repository, event.happened_at, known_only=not is_likely)
    return list(newest.values())


def _number(event: PublicEvent) -> int:
    return int(event.id) if event.id.isdecimal() else 0
