"""A strict reader of server-sent events, and writers of changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
import uvicorn
from sqlalchemy import text

from assay.app.app import App
from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin, State, Submission
from assay.serve.feed.hub import Hub
from assay.store.database.database import Database
from assay.store.submissions.transitions import Step, move
from assay.submit.admission import Admitted, SubmissionRequest, admit_submission
from assay.submit.bulk import admit_batch
from assay.web.app import create_app, create_hub

PATIENCE_SECONDS = 60
STREAM = "/api/v1/submissions/stream"


@dataclass
class Event:
    """An event as `EventSource` delivers it."""

    name: str
    id: str
    data: dict[str, Any]


@dataclass
class Parser:
    """The parsing algorithm of the standard."""

    events: list[Event] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    last_id: str = ""
    retry: int | None = None
    _name: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, line: str) -> Event | None:
        """Return the event completed by this line, if any."""
        if line == "":
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                self.comments.append(value)
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id":
                self.last_id = value
            case "retry":
                self.retry = int(value)
            case _:
                raise AssertionError(f"unknown field: {line}")
        return None

    def _dispatch(self) -> Event | None:
        name, data, self._name, self._data = self._name, self._data, "", []
        if not data:
            assert not name, "an event without data is never seen by anybody"
            return None
        assert len(data) == 1, "data is one line"
        event = Event(name, self.last_id, json.loads(data[0]))
        self.events.append(event)
        return event


@dataclass
class Reader:
    """An open stream."""

    response: httpx.Response
    parser: Parser = field(default_factory=Parser)

    def __post_init__(self) -> None:
        self._lines = self.response.aiter_lines()

    @property
    def last_id(self) -> str:
        """Return the id a browser would reconnect with."""
        return self.parser.last_id

    async def next(self) -> Event:
        """Return the next event, with a timeout."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self._lines:
                if event := self.parser.feed(line):
                    return event
        raise EOFError

    async def take(self, number: int) -> list[Event]:
        """Return the next events."""
        return [await self.next() for _ in range(number)]

    async def until(self, serial: int) -> list[Event]:
        """Return all events up to this id."""
        seen: list[Event] = []
        while not seen or int(seen[-1].id) < serial:
            seen.append(await self.next())
        return seen

    async def opened(self) -> "Reader":
        """Wait until the stream has started."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self._lines:
                self.parser.feed(line)
                if line == "":
                    return self
        raise EOFError


@asynccontextmanager
async def reading(
    base_url: str, path: str = STREAM, *, after: int | str | None = None, **given: Any
) -> AsyncIterator[Reader]:
    """Open a stream and wait until it has started."""
    headers = {"accept": "text/event-stream", **({} if after is None else {"last-event-id": str(after)})}
    async with (
        httpx.AsyncClient(base_url=base_url, timeout=httpx.Timeout(PATIENCE_SECONDS)) as client,
        client.stream("GET", path, headers=headers, **given) as response,
    ):
        if response.status_code != 200:
            raise AssertionError(f"{response.status_code}: {(await response.aread()).decode()}")
        reader = await Reader(response).opened()  # named, because an unreferenced reader closes its connection
        yield reader


@asynccontextmanager
async def serving(app: App, live: Hub | None = None) -> AsyncIterator[str]:
    """Serve a registry on a real port of this process."""
    live = live or create_hub(app)
    config = uvicorn.Config(create_app(app, live), port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        await live.close()
        server.should_exit = True
        await task


async def a_submission(store: Database, name: str = "pdf", submitter: str | None = None) -> Submission:
    """Create a waiting submission."""
    repository = RepositoryName(Host.GITHUB, "acme", "tools")
    request = SubmissionRequest(repository, name, f"skills/{name}/SKILL.md", Origin.API, submitter)
    async with store.begin() as db:
        return (await admit_submission(db, request)).submission


async def a_batch(store: Database, *names: str, submitter: str | None = None) -> list[UUID]:
    """Create a batch of submissions."""
    repository = RepositoryName(Host.GITHUB, "acme", "many")
    requests = [
        SubmissionRequest(repository, name, f"skills/{name}/SKILL.md", Origin.BULK, submitter) for name in names
    ]
    async with store.begin() as db:
        batch = await admit_batch(db, requests)
    return [each.submission.id for each in batch.results if isinstance(each, Admitted)]


async def step_on(store: Database, before: Submission, *steps: Step, **assign: object) -> Submission:
    """Return the submission after some transitions."""
    async with store.begin() as db:
        return await move(db, before, *steps, actor="test", **assign)


async def go_around(store: Database, before: Submission) -> Submission:
    """Make two changes that cancel each other."""
    return await step_on(store, before, Step(State.TIER1_SCANNING, "fetched"), Step(State.RECEIVED, "lease lost"))


async def changes_of_the_queue(store: Database, since: int = 0) -> list[int]:
    """Return the serials that a subscriber of everything must receive, from the table."""
    statement = text(
        "SELECT serial FROM change WHERE serial > :since AND kind IN ('submission', 'bulk') "
        "AND NOT (data ? 'batch' AND data ? 'from' AND data->>'from' IS NULL) ORDER BY serial"
    )
    async with store.begin() as db:
        return list((await db.execute(statement, {"since": since})).scalars())


async def all_numbered(store: Database) -> bool:
    """Return whether every committed change has its serial."""
    async with store.begin() as db:
        waiting = await db.execute(text("SELECT count(*) FROM change WHERE serial IS NULL"))
    return waiting.scalar_one() == 0
