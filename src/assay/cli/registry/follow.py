"""Waiting until submissions are decided, by the registry's event stream and by polling when it is unavailable."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import aiohttp

from assay.cli.registry.client import Registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import DetailResponse, EventResponse, read_response
from assay.cli.registry.submissions import SUBMISSIONS, SubmitResult
from assay.cli.ui.exit_codes import IN_PROGRESS
from assay.cli.ui.progress import state_progress
from assay.cli.ui.terminal import open_console, print_note
from assay.model.errors import AssayError, Unavailable

STREAM = "/api/v1/submissions/stream"
# A registry sends something every 20 seconds; one that is silent for a minute is gone.
STREAM_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60)
STILL_OPEN, CHANGED, GONE = "", "state_changed", "gone"
PAUSE_SECONDS = 1
MAX_CONCURRENT = 8
MAX_SHOWN = 5


@dataclass(frozen=True)
class Event:
    """A server-sent event; one without a name only says that the stream is open."""

    name: str
    data: Json


async def read_events(registry: Registry) -> AsyncGenerator[Event]:
    """Yield the events of all submissions from now on, until the registry closes the stream."""
    async with registry.open_response("GET", STREAM, timeout=STREAM_TIMEOUT) as response:
        name, data = "", ""
        async for raw in response.content:
            field, _, value = raw.decode(errors="replace").rstrip("\r\n").partition(":")
            match field:
                case "event":
                    name = value.strip()
                case "data":
                    data += value
                case "" if not value:
                    yield Event(name, json.loads(data or "{}"))
                    name, data = "", ""


class FollowedSubmissions:
    """Submissions being waited for; `on_change` is called with each new state."""

    def __init__(self, ids: Iterable[UUID], on_change: Callable[[UUID, str], None]) -> None:
        self._seen: dict[UUID, tuple[str, datetime] | None] = dict.fromkeys(ids)
        self._on_change = on_change
        self.decided: dict[UUID, Json] = {}

    @property
    def undecided(self) -> list[UUID]:
        return [each for each in self._seen if each not in self.decided]

    def awaits(self, submission_id: UUID) -> bool:
        return submission_id in self._seen and submission_id not in self.decided

    def record_event(self, submission_id: UUID, state: str, at: datetime) -> None:
        """Record an event, unless a newer state is already known."""
        seen = self._seen[submission_id]
        if seen is None or seen[1] <= at:
            self._record(submission_id, state, at)

    def record_response(self, response: Json) -> None:
        """Record the current state. A decided submission is no longer followed, even if it is requeued later."""
        submission = read_response(DetailResponse, response)
        self._record(submission.id, submission.state, submission.updated_at)
        if submission.state not in IN_PROGRESS:
            self.decided[submission.id] = response

    def _record(self, submission_id: UUID, state: str, at: datetime) -> None:
        seen = self._seen[submission_id]
        self._seen[submission_id] = (state, at)
        if seen is None or seen[0] != state:
            self._on_change(submission_id, state)


async def follow(registry: Registry, followed: FollowedSubmissions, timeout_seconds: float) -> None:
    """Wait until all are decided or the timeout ends, reconnecting if the registry restarts."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            while followed.undecided:
                with suppress(AssayError):
                    await _listen(registry, followed)
                if followed.undecided:
                    await asyncio.sleep(PAUSE_SECONDS)
                    with suppress(Unavailable):
                        await _refresh(registry, followed, followed.undecided)


async def read_details(registry: Registry, ids: Iterable[UUID]) -> dict[UUID, Json]:
    """Return the details of each submission."""
    slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(submission_id: UUID) -> tuple[UUID, Json]:
        async with slots:
            return submission_id, await registry.get(f"{SUBMISSIONS}/{submission_id}")

    return dict(await asyncio.gather(*map(one, ids)))


async def _listen(registry: Registry, followed: FollowedSubmissions) -> None:
    async with aclosing(read_events(registry)) as events:
        async for event in events:
            if event.name in (STILL_OPEN, GONE):
                # Changes before the stream was opened, or that it has dropped, are not sent as events.
                await _refresh(registry, followed, followed.undecided)
            elif event.name == CHANGED:
                await _handle_event(registry, followed, read_response(EventResponse, event.data))
            if not followed.undecided:
                return


async def _handle_event(registry: Registry, followed: FollowedSubmissions, event: EventResponse) -> None:
    """Record an event; on a final state, read the submission: the event may belong to an earlier cycle."""
    if not followed.awaits(event.submission_id):
        return
    if event.state in IN_PROGRESS:
        followed.record_event(event.submission_id, event.state, event.at)
    else:
        await _refresh(registry, followed, [event.submission_id])


async def _refresh(registry: Registry, followed: FollowedSubmissions, ids: Sequence[UUID]) -> None:
    for response in (await read_details(registry, ids)).values():
        followed.record_response(response)


async def wait_for_all(registry: Registry, results: Sequence[SubmitResult], timeout_seconds: int) -> dict[UUID, Json]:
    """Return the details of each submission once all are decided or the timeout ends, displaying the progress."""
    names = {each.id: each.skill_name or each.target for each in results if each.id is not None}
    with state_progress(open_console(stderr=True), names) as show:
        followed = FollowedSubmissions(names, show)
        try:
            await follow(registry, followed, timeout_seconds)
        except asyncio.CancelledError:
            _print_how_to_check_later(registry, followed, "Stopped waiting.")
            raise
    if followed.undecided:
        _print_how_to_check_later(registry, followed, f"Not decided after {timeout_seconds} s; is a worker running?")
    responses = {**followed.decided, **await read_details(registry, followed.undecided)}
    return {each: responses[each] for each in names}


def _print_how_to_check_later(registry: Registry, followed: FollowedSubmissions, reason: str) -> None:
    ids = followed.undecided
    pending = "1 submission is" if len(ids) == 1 else f"{len(ids):,} submissions are"
    print_note(f"{reason} {pending} still in progress. Check later at {registry.base_url}/queue, or with:")
    for each in ids[:MAX_SHOWN]:
        print_note(f"  assay queue show {each} --url {registry.base_url}")
