"""An answer without an end: events as they happen, for as long as somebody listens and keeps up."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from assay.serve.feed.hub import Hub
from assay.serve.feed.subscriber import Listener
from assay.web.feed.events_json import encode_keepalive

EVENT_STREAM = "text/event-stream"
HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-store",
    "Connection": "close",
    "X-Accel-Buffering": "no",
}
KEEPALIVE_SECONDS = 20
LAST_SECONDS = 1
# What `assay web` offers beyond ASGI: to cut a connection at once, although its other side does not read.
CUT = "assay.cut"


class EventStream(ASGIResponse):
    """First words, and then whatever waits for a listener."""

    _should_set_content_length = False

    def __init__(
        self, live: Hub, listener: Listener, opening: bytes, keepalive_seconds: float = KEEPALIVE_SECONDS
    ) -> None:
        super().__init__(headers=HEADERS, media_type=EVENT_STREAM)
        self._live, self._listener, self._opening = live, listener, opening
        self._keepalive_seconds = keepalive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Until the listener leaves, does not keep up, or the process stops."""
        watching, cut = asyncio.create_task(self._watch(receive)), _cutter(scope)
        try:
            await self._pour(send)
            # Closing waits until everything is read, for ever if need be.
            asyncio.get_running_loop().call_later(LAST_SECONDS, cut)
        except TimeoutError:
            self._live.drop(self._listener)
            cut()
            with suppress(TimeoutError):
                await asyncio.wait_for(watching, LAST_SECONDS)
        finally:
            self._live.leave(self._listener)
            watching.cancel()

    async def _watch(self, receive: Receive) -> None:
        """Notices that the other side has left, also while there is nothing to send."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._live.leave(self._listener)
        self._listener.end()

    async def _pour(self, send: Send) -> None:
        """Raises TimeoutError if the other side does not take what it is sent."""
        await self.start_response(send)
        chunk = self._opening
        while chunk:
            async with self._listener.sending():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await self._next_chunk()
        async with asyncio.timeout(LAST_SECONDS):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next_chunk(self) -> bytes:
        try:
            async with asyncio.timeout(self._keepalive_seconds):
                await self._listener.wait()
        except TimeoutError:
            # Something may have come in the same moment: its id must not be passed over.
            return self._listener.take() or encode_keepalive(self._live.newest)
        return self._listener.take()


def _cutter(scope: Scope) -> Callable[[], object]:
    """How this server cuts a connection; others close it when the answer is at its end."""
    abort = (scope.get("extensions") or {}).get(CUT, {}).get("abort")
    return abort if callable(abort) else lambda: None
