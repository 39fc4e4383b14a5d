"""The ASGI application: selects the host, records the call, and sends the response or its fault."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any

from tests.support.fake_github.answer import JSON_TYPE, NOT_FOUND, Answer, Handled, Header
from tests.support.fake_github.api import answer_api
from tests.support.fake_github.calls import Call
from tests.support.fake_github.downloads import answer_codeload, answer_raw, answer_web
from tests.support.fake_github.request import Request, Scope, read_request
from tests.support.fake_github.world import FakeGitHub

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_CHUNK_BYTES = 64 * 1024
_HOSTS: dict[str, Callable[[FakeGitHub, Request], Handled]] = {
    "api": answer_api,
    "raw": answer_raw,
    "codeload": answer_codeload,
    "web": answer_web,
}


class FakeGitHubApp:
    """Serves one world. It needs the transport in the scope's state to drop connections."""

    def __init__(self, world: FakeGitHub) -> None:
        self._world = world
        self._date: tuple[int, Header] = (0, (b"date", b""))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = read_request(scope)
        if request.method == "POST":
            request.body = await _body(receive)
        handled = self._handle(request)
        delay_seconds = self._world.faults.latency_seconds.get(handled.route)
        if delay_seconds and await _client_disconnects_within(delay_seconds, receive):
            return
        answer = handled.answer
        if answer.status == 0:
            scope["state"]["transport"].abort()
            await _client_disconnects(receive)
            return
        await send(self._start(handled))
        if answer.hang_up_after_bytes is not None:
            await send(_part(answer.body[: answer.hang_up_after_bytes], more=True))
            # Close instead of abort, so that written data is sent first.
            scope["state"]["transport"].close()
            await _client_disconnects(receive)
        elif answer.streamed:
            await _stream(answer.body, send)
        else:
            await send(_part(answer.body, more=False))

    def _handle(self, request: Request) -> Handled:
        with self._world.lock:
            host = request.parts[0]
            answer = _HOSTS.get(host)
            if answer is None:
                return _control(self._world, request)
            handled = answer(self._world, request)
            self._world.calls.record(
                Call(
                    host,
                    handled.route,
                    request.path,
                    handled.answer.status,
                    request.token,
                    request.authorization,
                    handled.charged,
                )
            )
            return handled

    def _start(self, handled: Handled) -> dict[str, Any]:
        answer = handled.answer
        headers = [*answer.headers, *handled.headers, self._date_header()]
        if not answer.streamed and answer.status != 304:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        return {"type": "http.response.start", "status": answer.status, "headers": headers}

    def _date_header(self) -> Header:
        second = int(self._world.now())
        if second != self._date[0]:
            self._date = second, (b"date", formatdate(second, usegmt=True).encode())
        return self._date[1]


def _control(world: FakeGitHub, request: Request) -> Handled:
    """Respond to the fake's own control URLs, which are not recorded."""
    match request.method, request.path:
        case "GET", "/_calls":
            counts = {**world.calls.by_route, "charged": world.calls.charged}
            return Handled("control", Answer(200, json.dumps(counts).encode(), (JSON_TYPE,)))
        case "GET", "/_limits":
            counted = {"tokens": world.calls.by_token, "refused": world.calls.refused}
            return Handled("control", Answer(200, json.dumps(counted).encode(), (JSON_TYPE,)))
        case "POST", "/_reset":
            world.reset_calls()
            return Handled("control", Answer(200, b"{}", (JSON_TYPE,)))
        case _:
            return Handled("control", NOT_FOUND)


async def _stream(body: bytes, send: Send) -> None:
    for start in range(0, len(body), _CHUNK_BYTES):
        await send(_part(body[start : start + _CHUNK_BYTES], more=True))
    await send(_part(b"", more=False))


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _body(receive: Receive) -> bytes:
    parts = [await receive()]
    while parts[-1].get("more_body"):
        parts.append(await receive())
    return b"".join(part.get("body", b"") for part in parts)


async def _client_disconnects(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _client_disconnects_within(seconds: float, receive: Receive) -> bool:
    """Wait; return True early if the client disconnects."""
    try:
        async with asyncio.timeout(seconds):
            await _client_disconnects(receive)
    except TimeoutError:
        return False
    return True
