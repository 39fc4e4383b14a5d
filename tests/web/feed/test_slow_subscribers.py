"""Idle, slow and closing event streams, on a connection controlled by the test."""

import asyncio
from collections.abc import Callable
from typing import Any

from litestar.types import Message

from assay.serve.feed.hub import Hub
from assay.serve.feed.live_events import ALL_SUBMISSIONS
from assay.serve.feed.subscribers import Subscriber, SubscriberLimits, SubscriberOptions
from assay.web.feed.json import encode_live_events, encode_opening
from assay.web.http.sse import CUT, EventStream
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.streams import Parser, a_submission, go_around


class Wire:
    """A connection whose client may stop reading."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.left, self.was_cut, self.is_complete = asyncio.Event(), asyncio.Event(), False

    @property
    def scope(self) -> dict[str, Any]:
        """Return an ASGI scope that allows cutting the connection."""
        return {"type": "http", "extensions": {CUT: {"abort": self.cut}}}

    def cut(self) -> None:
        """Close the connection like a transport whose client has left."""
        self.was_cut.set()
        self.left.set()

    async def receive(self) -> Message:
        """Return the end of the request, then block until the client leaves."""
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Block while the client does not read."""
        await self.is_open.wait()
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.is_complete = not message["more_body"]

    @property
    def parser(self) -> Parser:
        """Parse everything received so far."""
        parser = Parser()
        for line in b"".join(self.sent).decode().split("\n"):
            parser.feed(line)
        return parser


async def stream_on(live: Hub, wire: Wire, keepalive_seconds: float = 60) -> asyncio.Task[None]:
    """Open a stream of all events."""
    subscriber = await live.subscribe(ALL_SUBMISSIONS, None)
    stream = EventStream(live, subscriber, encode_opening(subscriber.start), keepalive_seconds)
    return asyncio.create_task(stream(wire.scope, wire.receive, wire.send))  # type: ignore[arg-type]


async def reached(condition: Callable[[], bool]) -> bool:
    """Return a condition for `until`."""
    return condition()


def a_hub(registry: Registry, **limits: float) -> Hub:
    """Return a hub with the given timeouts."""
    options = SubscriberOptions(limits=SubscriberLimits(**limits))  # type: ignore[arg-type]
    return Hub(registry.app.store, registry.app.database_url, encode_live_events, options)


async def test_idle_stream_sends_keepalives(registry: Registry) -> None:
    """A comment whose id advances with events of others."""
    live, wire = a_hub(registry), Wire()
    streaming = await stream_on(live, wire, keepalive_seconds=0.01)
    await until(lambda: reached(lambda: len(wire.parser.comments) > 2))
    assert set(wire.parser.comments) == {"keepalive"}
    await a_submission(registry.app.store)
    await until(lambda: reached(lambda: len(wire.parser.events) == 1))
    number = len(wire.parser.comments)
    await until(lambda: reached(lambda: len(wire.parser.comments) > number))
    assert wire.parser.last_id == "1"
    wire.left.set()
    await streaming
    assert len(live.subscribers) == 0


async def test_keepalive_does_not_skip_queued_events(registry: Registry) -> None:
    """G73: an event that arrives together with a keepalive is sent before the keepalive's id."""

    class Drowsy(Subscriber):
        """A subscriber with a queued event that is not woken in time."""

        async def wait(self) -> None:
            if not wire.parser.events:
                await asyncio.Event().wait()
            await super().wait()

    live, wire = a_hub(registry), Wire()
    subscriber = await live.subscribe(ALL_SUBMISSIONS, None)
    subscriber.__class__ = Drowsy
    await a_submission(registry.app.store)
    await until(lambda: reached(lambda: live.newest == 1))
    stream = EventStream(live, subscriber, encode_opening(subscriber.start), keepalive_seconds=0.01)
    streaming = asyncio.create_task(stream(wire.scope, wire.receive, wire.send))  # type: ignore[arg-type]
    await until(lambda: reached(lambda: len(wire.sent) > 1))
    assert wire.sent[1].startswith(b"event: submission_created")
    wire.left.set()
    await streaming


async def test_stream_is_closed_when_a_write_stalls(registry: Registry) -> None:
    """G75: other subscribers receive every event meanwhile."""
    live, stuck, well = a_hub(registry, seconds=0.2), Wire(), Wire()
    streams = [await stream_on(live, stuck), await stream_on(live, well)]
    await until(lambda: reached(lambda: bool(stuck.sent and well.sent)))
    stuck.is_open.clear()
    before = await a_submission(registry.app.store)
    await go_around(registry.app.store, before)
    async with asyncio.timeout(60):
        await streams[0]
    assert stuck.was_cut.is_set()
    assert not stuck.is_complete
    assert (live.subscribers.stats.subscribers_dropped, len(live.subscribers)) == (1, 1)
    await until(lambda: reached(lambda: len(well.parser.events) == 3))
    well.left.set()
    await streams[1]
    assert not well.was_cut.is_set()


async def test_stream_is_closed_when_its_queue_is_full(registry: Registry) -> None:
    """G75: the limit on queued events applies as well as the write timeout."""
    live, stuck = a_hub(registry, entries=3, seconds=10_000), Wire()
    streaming = await stream_on(live, stuck)
    await until(lambda: reached(lambda: bool(stuck.sent)))
    stuck.is_open.clear()
    before = await a_submission(registry.app.store)
    for _ in range(4):
        before = await go_around(registry.app.store, before)
    async with asyncio.timeout(60):
        await streaming
    assert stuck.was_cut.is_set()
    assert (live.subscribers.stats.subscribers_dropped, len(live.subscribers)) == (1, 0)


async def test_shutdown_closes_all_streams_immediately(registry: Registry) -> None:
    """Readers get a proper end, stalled connections are cut."""
    live, stuck, well = a_hub(registry, seconds=10_000), Wire(), Wire()
    streams = [await stream_on(live, stuck), await stream_on(live, well)]
    await until(lambda: reached(lambda: bool(stuck.sent and well.sent)))
    stuck.is_open.clear()
    await a_submission(registry.app.store)
    await until(lambda: reached(lambda: len(well.parser.events) == 1))
    await live.close()
    async with asyncio.timeout(60):
        await asyncio.gather(*streams)
    assert well.is_complete
    assert stuck.was_cut.is_set()
    assert live.subscribers.stats.subscribers_dropped == 0, "they did nothing wrong"
