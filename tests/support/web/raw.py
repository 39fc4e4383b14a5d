"""Requests below the HTTP client: any bytes in headers, and streams that do not end."""

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from litestar.types import ASGIApp

ADDRESS = ("127.0.0.1", 123)


@dataclass
class RawAnswer:
    """A response as the server sent it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def code(self) -> str | None:
        """Return the code of a problem body."""
        is_problem = self.headers.get("content-type") == "application/problem+json"
        return json.loads(self.body)["code"] if is_problem else None


async def send_raw(
    served: ASGIApp,
    method: str,
    path: str,
    headers: Iterable[tuple[bytes, bytes]] = (),
    body: bytes = b"",
    query: bytes = b"",
    address: tuple[str, int] = ADDRESS,
) -> RawAnswer:
    """Send a request and return its response; of an event stream only the start."""
    answer, done, is_sent = RawAnswer(), asyncio.Event(), False

    async def receive() -> Any:
        nonlocal is_sent
        if is_sent:
            await done.wait()
            return {"type": "http.disconnect"}
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                done.set()
        else:
            answer.body += message.get("body", b"")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": address,
        "server": ("127.0.0.1", 80),
    }
    task = asyncio.ensure_future(served(scope, receive, send))  # type: ignore[arg-type]
    watch = asyncio.ensure_future(done.wait())
    await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
    watch.cancel()
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    else:
        task.result()
    done.set()
    return answer
