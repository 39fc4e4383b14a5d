"""What happens on GitHub right now: pushes to repositories that are known, and new ones that sound like skills."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.github.client import GitHub
from assay.github.search import EVENT_PAGES, PER_PAGE, PublicEvent, list_events
from assay.model.discovery import Candidate

TELLING = frozenset({"PushEvent", "CreateEvent", "PublicEvent", "ReleaseEvent"})
HINT = "skill"


@dataclass(frozen=True)
class Events:
    """Everybody's events, and those of the named organisations, from the last one that was seen on."""

    github: GitHub
    cadence: Cadence
    owners: Sequence[str] = ()
    name: str = "events"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One list each, as far back as GitHub shows it."""
        seen: dict[str, int] = dict((checkpoint or {}).get("seen", {}))
        places: list[str | None] = [None, *self.owners]
        for number, owner in enumerate(places):
            events = await self._news(owner, seen.get(owner or "", 0), meter)
            if events:
                seen[owner or ""] = max(_number(each) for each in events)
            candidates = _candidates(events, is_named=owner is not None)
            yield Page(candidates, {"seen": dict(seen)}, number == len(places) - 1)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether anything happens at all."""
        meter.spend()
        return bool(await list_events(self.github))

    async def _news(self, owner: str | None, last: int, meter: Meter) -> list[PublicEvent]:
        news: list[PublicEvent] = []
        for page in range(1, EVENT_PAGES + 1):
            meter.spend()
            listed = await list_events(self.github, owner, page=page)
            fresh = [each for each in listed if _number(each) > last]
            news += fresh
            if len(fresh) < PER_PAGE:
                break
        return news


def _candidates(events: Sequence[PublicEvent], *, is_named: bool) -> list[Candidate]:
    """The newest event of each repository counts."""
    newest: dict[tuple[str, str, str], Candidate] = {}
    for event in sorted(events, key=_number):
        if event.kind in TELLING:
            is_likely = is_named or HINT in event.repository.name.lower()
            newest[event.repository.key] = Candidate(event.repository, event.happened_at, known_only=not is_likely)
    return list(newest.values())


def _number(event: PublicEvent) -> int:
    return int(event.id) if event.id.isdecimal() else 0
