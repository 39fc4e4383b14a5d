"""Answers that others keep: signed as they are sent, and not sent again to whoever has them already.

A route asks for this with SIGNED in its `opt`. The signature is over the bytes of the body, so that a copy of it can be
checked by whoever has it, wherever it came from.
"""

import hashlib
from typing import Any

from litestar.datastructures import MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.certify.signature import sign_bytes
from assay.web.http.context import behind

SIGNED = {"signed": True}
SIGNATURE_HEADER = "Assay-Signature"


def answer_signed(app: ASGIApp) -> ASGIApp:
    """Around the router: holds a signed answer until it is whole."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return await app(scope, receive, send)
        start: Message | None = None
        body = bytearray()

        async def hold(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if not _is_to_be_signed(scope, message):
                    return await send(message)
                start = message
                return None
            if start is None or message["type"] != "http.response.body":
                return await send(message)
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_signed(scope, start, bytes(body), send)
            return None

        return await app(scope, receive, hold)

    return answering


def _is_to_be_signed(scope: Scope, start: Message) -> bool:
    handler = scope.get("route_handler")
    return (
        start["type"] == "http.response.start"
        and start["status"] == 200
        and bool(handler is not None and handler.opt.get("signed"))
    )


async def _send_signed(scope: Scope, start: Message, body: bytes, send: Send) -> None:
    assert start["type"] == "http.response.start"
    key = behind(scope).assay.keys.hallmark
    headers: Any = MutableScopeHeaders.from_message(start)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers["ETag"] = etag
    headers[SIGNATURE_HEADER] = f'keyid="{key.id}", sig="{sign_bytes(key, body)}"'
    if etag in _known_tags(scope):
        start["status"], body = 304, b""
        headers["Content-Length"] = "0"
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _known_tags(scope: Scope) -> set[str]:
    given = b",".join(value for name, value in scope["headers"] if name == b"if-none-match")
    return {tag.strip().removeprefix("W/") for tag in given.decode("latin-1").split(",")}
