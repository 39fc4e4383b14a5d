"""Server-sent events: a response that stays open until the client leaves or cannot keep up."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from assay.serve.feed.hub import Hub
from assay.serve.feed.subscribers import Subscriber

EVENT_STREAM = "text/event-stream"
HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-store",
    "Connection": "close",
    "X-Accel-Buffering": "no",
}
KEEPALIVE_SECONDS = 20
LAST_SECONDS = 1
# ASGI extension of `assay web`: abort a connection at once, even if the client does not read.
CUT = "assay.cut"


class EventStream(ASGIResponse):
    """A response with an opening chunk, followed by the events queued for one subscriber."""

    _should_set_content_length = False

    def __init__(
        self, live: Hub, subscriber: Subscriber, opening: bytes, keepalive_seconds: float = KEEPALIVE_SECONDS
    ) -> None:
        super().__init__(headers=HEADERS, media_type=EVENT_STREAM)
        self._live, self._subscriber, self._opening = live, subscriber, opening
        self._keepalive_seconds = keepalive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves, cannot keep up, or the process stops."""
        watching, cut = asyncio.create_task(self._watch(receive)), _abort_of(scope)
        try:
            await self._send_chunks(send)
            # A graceful close waits until the client has read everything, possibly forever.
            asyncio.get_running_loop().call_later(LAST_SECONDS, cut)
        except TimeoutError:
            self._live.drop(self._subscriber)
            cut()
            with suppress(TimeoutError):
                await asyncio.wait_for(watching, LAST_SECONDS)
        finally:
            self._live.unsubscribe(self._subscriber)
            watching.cancel()

    async def _watch(self, receive: Receive) -> None:
        """Detect that the client has disconnected, also while there is nothing to send."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._live.unsubscribe(self._subscriber)
        self._subscriber.end()

    async def _send_chunks(self, send: Send) -> None:
        """Send all chunks; raise TimeoutError if the client does not read them."""
        await self.start_response(send)
        chunk = self._opening
        while chunk:
            async with self._subscriber.sending():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await self._next_chunk()
        async with asyncio.timeout(LAST_SECONDS):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next_chunk(self) -> bytes:
        try:
            async with asyncio.timeout(self._keepalive_seconds):
                await self._subscriber.wait()
        except TimeoutError:
            # An event may have arrived at the same moment; a newer id must not skip it.
            return self._subscriber.take() or encode_keepalive(self._live.newest)
        return self._subscriber.take()


def encode_keepalive(newest: int) -> bytes:
    """Return a comment that keeps proxies from closing an idle connection, with an id that keeps the client current."""
    return f": keepalive\nid: {newest}\n\n".encode()


def _abort_of(scope: Scope) -> Callable[[], object]:
    """Return the abort function of this server; other servers close the connection when the response ends."""
    abort = (scope.get("extensions") or {}).get(CUT, {}).get("abort")
    return abort if callable(abort) else lambda: None
