"""Follow submissions until each is decided: by the registry's stream of events, and by asking where there is none."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from uuid import UUID

from assay.cli.registry.admissions import SUBMISSIONS
from assay.cli.registry.client import Registry
from assay.cli.registry.errors import Json
from assay.cli.registry.events import read_events
from assay.cli.registry.responses import DetailRead, EventRead, read
from assay.cli.ui.exits import UNDER_WAY
from assay.model.errors import AssayError, Unavailable

PAUSE_SECONDS = 1
AT_ONCE = 8
STILL_OPEN, CHANGED, GONE = "", "state_changed", "gone"


class Followed:
    """Submissions that somebody waits for; `on_change` is told of each state that one comes to."""

    def __init__(self, ids: Iterable[UUID], on_change: Callable[[UUID, str], None]) -> None:
        self._seen: dict[UUID, tuple[str, datetime] | None] = dict.fromkeys(ids)
        self._on_change = on_change
        self.decided: dict[UUID, Json] = {}

    @property
    def undecided(self) -> list[UUID]:
        """Those still waited for."""
        return [each for each in self._seen if each not in self.decided]

    def awaits(self, submission_id: UUID) -> bool:
        """Whether it is one of them."""
        return submission_id in self._seen and submission_id not in self.decided

    def hear(self, submission_id: UUID, state: str, at: datetime) -> None:
        """An event: news, or something old that comes late and is passed over."""
        seen = self._seen[submission_id]
        if seen is None or seen[1] <= at:
            self._note(submission_id, state, at)

    def look_at(self, answer: Json) -> None:
        """How it stands now. What is decided is followed no longer: a later requeue is another story."""
        submission = read(DetailRead, answer)
        self._note(submission.id, submission.state, submission.updated_at)
        if submission.state not in UNDER_WAY:
            self.decided[submission.id] = answer

    def _note(self, submission_id: UUID, state: str, at: datetime) -> None:
        seen = self._seen[submission_id]
        self._seen[submission_id] = (state, at)
        if seen is None or seen[0] != state:
            self._on_change(submission_id, state)


async def follow(registry: Registry, followed: Followed, timeout_seconds: float) -> None:
    """Until all are decided, or the time is over. A registry that restarts meanwhile is waited for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            while followed.undecided:
                with suppress(AssayError):
                    await _listen(registry, followed)
                if followed.undecided:
                    await asyncio.sleep(PAUSE_SECONDS)
                    with suppress(Unavailable):
                        await _look(registry, followed, followed.undecided)


async def read_details(registry: Registry, ids: Iterable[UUID]) -> dict[UUID, Json]:
    """Each submission with everything that happened to it."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(submission_id: UUID) -> tuple[UUID, Json]:
        async with room:
            return submission_id, await registry.get(f"{SUBMISSIONS}/{submission_id}")

    return dict(await asyncio.gather(*map(one, ids)))


async def _listen(registry: Registry, followed: Followed) -> None:
    async with aclosing(read_events(registry)) as events:
        async for event in events:
            if event.name in (STILL_OPEN, GONE):
                # What happened before the stream was open, or could not be kept, is in no event.
                await _look(registry, followed, followed.undecided)
            elif event.name == CHANGED:
                await _hear(registry, followed, read(EventRead, event.data))
            if not followed.undecided:
                return


async def _hear(registry: Registry, followed: Followed, event: EventRead) -> None:
    """An event may be of an earlier round, which has its own end: that of this one is looked up."""
    if not followed.awaits(event.submission_id):
        return
    if event.state in UNDER_WAY:
        followed.hear(event.submission_id, event.state, event.at)
    else:
        await _look(registry, followed, [event.submission_id])


async def _look(registry: Registry, followed: Followed, ids: Sequence[UUID]) -> None:
    for answer in (await read_details(registry, ids)).values():
        followed.look_at(answer)
