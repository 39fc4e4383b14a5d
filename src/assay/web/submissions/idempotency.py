"""`Idempotency-Key`: a repeated request gets the response of the first one, and its work is done only once."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import HeaderParameter

from assay.app.app import App
from assay.model.account import ANONYMOUS
from assay.model.errors import Conflict, Invalid
from assay.model.source import digest_of
from assay.store.submissions.idempotency import claim_key, store_response
from assay.web.http.caller import caller_of
from assay.web.http.context import Connection
from assay.web.http.limits import share_of

LONGEST_KEY = 200
REPLAYED = "Idempotent-Replayed"
IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        max_length=LONGEST_KEY,
        description="A key chosen by the client. The same request with the same key gets the same response for a week.",
    ),
]
Work = Callable[[Any], Awaitable[tuple[int, msgspec.Struct]]]


async def answer_once(
    assay: App, request: Connection, route: str, key: str | None, body: msgspec.Struct, work: Work
) -> Response[Any]:
    """Do the work in one transaction and store its response under the key, or return the stored response."""
    if key is not None and not key.isprintable():
        raise Invalid("Idempotency-Key: use printable characters only.", code="bad_idempotency_key")
    scope = f"{route} {_owner_of_key(request)}"
    digest = f"sha256:{hashlib.sha256(msgspec.json.encode(body)).hexdigest()}"
    async with assay.store.begin() as db:
        stored = await claim_key(db, scope, key, digest) if key else None
        if stored is None:
            status, response = await work(db)
            if key:
                await store_response(db, scope, key, status, msgspec.to_builtins(response))
            return Response(response, status_code=status)
    if stored.request_digest != digest:
        raise Conflict("This Idempotency-Key was already used for a different request.", code="idempotency_key_reused")
    return Response(stored.body, status_code=stored.status, headers={REPLAYED: "true"})


def _owner_of_key(request: Connection) -> str:
    """Return who chose the key: callers without an account are told apart by address, which is stored as a digest."""
    caller = caller_of(request)
    return digest_of(share_of(request).encode()) if caller == ANONYMOUS else str(caller.account_id or caller.name)
