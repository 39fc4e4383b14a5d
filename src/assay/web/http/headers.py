"""Response headers: security and caching defaults, entity tags, file names, and HEAD requests."""

import math
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from litestar import Response
from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.status_codes import HTTP_304_NOT_MODIFIED
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.model.account import ANONYMOUS, Caller
from assay.model.quota import Quota

DEFAULTS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
REVALIDATE, NO_STORE = "no-cache", "no-store"
# The headers of the rate limit that the request has spent most of, in the state of the request.
RATE_LIMIT = "rate_limit"


async def add_headers(message: Message, scope: Scope) -> None:
    """Add default headers to every response, errors included; headers that a handler set are kept."""
    if message["type"] != "http.response.start":
        return
    headers: Any = MutableScopeHeaders.from_message(message)
    failed = message["status"] >= HTTPStatus.BAD_REQUEST
    caller: Caller = scope["state"].get("caller", ANONYMOUS)
    # Personal pages and cookies must not come back from a cache after signing out.
    is_personal = caller.is_signed_in or "set-cookie" in headers
    cache = NO_STORE if failed or is_personal else REVALIDATE
    for name, value in {**DEFAULTS, "Cache-Control": cache, **scope["state"].get(RATE_LIMIT, {})}.items():
        headers.setdefault(name, value)


def rate_limit_headers(quota: Quota, seconds: float) -> dict[str, str]:
    """Return the headers of a limit that resets after `seconds`."""
    return {
        "RateLimit-Limit": str(quota.limit),
        "RateLimit-Remaining": str(quota.remaining),
        "RateLimit-Reset": str(max(0, math.ceil(seconds))),
    }


def etag_of(value: str) -> str:
    """Return the value as a strong entity tag."""
    return f'"{value}"'


def is_cached(request_headers: Headers, etag: str) -> bool:
    """Return whether `If-None-Match` names this entity tag, so that 304 suffices."""
    tags = [tag.strip() for line in request_headers.getall("if-none-match", []) for tag in line.split(",")]
    return tags == ["*"] or etag in [tag.removeprefix("W/") for tag in tags]


def not_modified(headers: dict[str, str]) -> Response[Any]:
    return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)


def content_disposition(kind: str, name: str) -> str:
    """Return a header value that suggests a file name in any alphabet; `kind` is `inline` or `attachment`."""
    return f"{kind}; filename*=UTF-8''{quote(name, safe='')}"


def answer_head(app: ASGIApp) -> ASGIApp:
    """Answer HEAD like GET, without the body, so that no route has to declare it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            return await app(scope, receive, send)

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        return await app({**scope, "method": "GET"}, receive, send_head)

    return serve
