"""Headers of every answer, errors included: no script but ours runs in a page, and nothing stale or failed is kept."""

from http import HTTPStatus
from typing import Any

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

from assay.model.account import ANONYMOUS, Caller

ALWAYS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
ASK_AGAIN, NEVER_KEEP = "no-cache", "no-store"


async def add_headers(message: Message, scope: Scope) -> None:
    """Run before every answer is sent; what a handler has chosen itself stays."""
    if message["type"] != "http.response.start":
        return
    headers: Any = MutableScopeHeaders.from_message(message)
    failed = message["status"] >= HTTPStatus.BAD_REQUEST
    caller: Caller = scope["state"].get("caller", ANONYMOUS)
    # What a person saw must not come back after they have signed out, nor the cookies that they were given.
    is_personal = caller.is_signed_in or "set-cookie" in headers
    kept = NEVER_KEEP if failed or is_personal else ASK_AGAIN
    for name, value in {**ALWAYS, "Cache-Control": kept}.items():
        headers.setdefault(name, value)
