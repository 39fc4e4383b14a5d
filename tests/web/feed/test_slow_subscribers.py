"""Streams that are quiet, slow or stopped, on a wire that the test holds in its hands."""

import asyncio
from collections.abc import Callable
from typing import Any

from litestar.types import Message

from assay.serve.feed.hub import Hub
from assay.serve.feed.live_events import EVERYBODY
from assay.serve.feed.subscriber import Listener, Patience
from assay.serve.feed.subscribers import AudienceOptions
from assay.web.feed.events_json import encode_happenings, encode_opening
from assay.web.http.sse import CUT, EventStream
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.streams import Parser, a_submission, go_around


class Wire:
    """A connection as a server gives it to an application, whose other side may stop reading."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.left, self.was_cut, self.is_complete = asyncio.Event(), asyncio.Event(), False

    @property
    def scope(self) -> dict[str, Any]:
        """With the means to cut the connection."""
        return {"type": "http", "extensions": {CUT: {"abort": self.cut}}}

    def cut(self) -> None:
        """As a transport does it: the other side has left."""
        self.was_cut.set()
        self.left.set()

    async def receive(self) -> Message:
        """The end of the request, then nothing until the other side leaves."""
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Waits while the other side does not read."""
        await self.is_open.wait()
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.is_complete = not message["more_body"]

    @property
    def parser(self) -> Parser:
        """Everything that has arrived."""
        parser = Parser()
        for line in b"".join(self.sent).decode().split("\n"):
            parser.feed(line)
        return parser


async def stream_on(live: Hub, wire: Wire, keepalive_seconds: float = 60) -> asyncio.Task[None]:
    """An open stream of everything."""
    listener = await live.listen(EVERYBODY, None)
    stream = EventStream(live, listener, encode_opening(listener.start), keepalive_seconds)
    return asyncio.create_task(stream(wire.scope, wire.receive, wire.send))  # type: ignore[arg-type]


async def reached(condition: Callable[[], bool]) -> bool:
    """For `until`."""
    return condition()


def a_hub(registry: Registry, **patience: float) -> Hub:
    """Live events of a process, more or less patient."""
    options = AudienceOptions(patience=Patience(**patience))  # type: ignore[arg-type]
    return Hub(registry.app.store, registry.app.database_url, encode_happenings, options)


async def test_a_quiet_stream_is_kept_alive(registry: Registry) -> None:
    """A comment now and then, whose id moves on with what happens to others."""
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
    assert len(live.audience) == 0


async def test_no_keepalive_passes_over_what_waits(registry: Registry) -> None:
    """G73: something happens in the very moment in which a quiet stream is kept alive; its id must not go first."""

    class Drowsy(Listener):
        """Something is in its queue, and it does not wake up in time."""

        async def wait(self) -> None:
            if not wire.parser.events:
                await asyncio.Event().wait()
            await super().wait()

    live, wire = a_hub(registry), Wire()
    listener = await live.listen(EVERYBODY, None)
    listener.__class__ = Drowsy
    await a_submission(registry.app.store)
    await until(lambda: reached(lambda: live.newest == 1))
    stream = EventStream(live, listener, encode_opening(listener.start), keepalive_seconds=0.01)
    streaming = asyncio.create_task(stream(wire.scope, wire.receive, wire.send))  # type: ignore[arg-type]
    await until(lambda: reached(lambda: len(wire.sent) > 1))
    assert wire.sent[1].startswith(b"event: submission_created")
    wire.left.set()
    await streaming


async def test_who_does_not_take_what_is_sent_is_cut_off(registry: Registry) -> None:
    """G75: a write that is stuck ends the stream after a while; the others hear everything meanwhile."""
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
    assert (live.audience.tally.listeners_dropped, len(live.audience)) == (1, 1)
    await until(lambda: reached(lambda: len(well.parser.events) == 3))
    well.left.set()
    await streams[1]
    assert not well.was_cut.is_set()


async def test_who_falls_too_far_behind_is_cut_off_at_once(registry: Registry) -> None:
    """G75: the bound on what waits counts, not only the time of a write."""
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
    assert (live.audience.tally.listeners_dropped, len(live.audience)) == (1, 0)


async def test_stopping_waits_for_nobody(registry: Registry) -> None:
    """All streams end at once: properly for those who read, cut for those who do not."""
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
    assert live.audience.tally.listeners_dropped == 0, "they did nothing wrong"
