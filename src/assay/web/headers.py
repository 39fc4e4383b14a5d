"""Headers of every answer, errors included: nothing runs in a page, and nothing stale or failed is kept."""

from http import HTTPStatus
from typing import Any

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

ALWAYS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
ASK_AGAIN, NEVER_KEEP = "no-cache", "no-store"


async def add_headers(message: Message, _scope: Scope) -> None:
    """Run before every answer is sent; what a handler has chosen itself stays."""
    if message["type"] != "http.response.start":
        return
    headers: Any = MutableScopeHeaders.from_message(message)
    failed = message["status"] >= HTTPStatus.BAD_REQUEST
    for name, value in {**ALWAYS, "Cache-Control": NEVER_KEEP if failed else ASK_AGAIN}.items():
        headers.setdefault(name, value)
