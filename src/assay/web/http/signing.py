"""Signed responses: the body is signed as sent and has an ETag, so that a copy of it can be verified anywhere.

A route requests this with SIGNED in its `opt`.
"""

import hashlib
from typing import Any

from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.certify.signature import sign_bytes
from assay.web.http.context import context_of
from assay.web.http.headers import etag_of, is_cached

SIGNED = {"signed": True}
SIGNATURE_HEADER = "Assay-Signature"


def answer_signed(app: ASGIApp) -> ASGIApp:
    """Wrap the router and buffer the responses of signed routes until they are complete."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return await app(scope, receive, send)
        start: Message | None = None
        body = bytearray()

        async def hold(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if not _needs_signature(scope, message):
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

    return serve


def _needs_signature(scope: Scope, start: Message) -> bool:
    handler = scope.get("route_handler")
    return (
        start["type"] == "http.response.start"
        and start["status"] == 200
        and bool(handler is not None and handler.opt.get("signed"))
    )


async def _send_signed(scope: Scope, start: Message, body: bytes, send: Send) -> None:
    assert start["type"] == "http.response.start"
    key = context_of(scope).assay.keys.hallmark
    headers: Any = MutableScopeHeaders.from_message(start)
    etag = etag_of(hashlib.sha256(body).hexdigest()[:32])
    headers["ETag"] = etag
    headers[SIGNATURE_HEADER] = f'keyid="{key.id}", sig="{sign_bytes(key, body)}"'
    if is_cached(Headers.from_scope(scope), etag):
        start["status"], body = 304, b""
        headers["Content-Length"] = "0"
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
