"""`Idempotency-Key`: a request that is sent again gets the answer of the first time, and nothing is done twice."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import HeaderParameter

from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import Conflict, Invalid
from assay.store.submissions.idempotency import claim_key, keep_answer

LONGEST_KEY = 200
REPLAYED = "Idempotent-Replayed"
IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        max_length=LONGEST_KEY,
        description="A key of your choice: the same request with the same key gets the same answer for a week.",
    ),
]
Work = Callable[[Any], Awaitable[tuple[int, msgspec.Struct]]]


async def answer_once(
    assay: App, caller: Caller, route: str, key: str | None, body: msgspec.Struct, work: Work
) -> Response[Any]:
    """Do the work in one transaction and keep its answer under the key; or give the answer that is kept."""
    if key is not None and not key.isprintable():
        raise Invalid("Idempotency-Key: use visible characters.", code="bad_idempotency_key")
    scope = f"{route} {caller.account_id or caller.name}"
    digest = f"sha256:{hashlib.sha256(msgspec.json.encode(body)).hexdigest()}"
    async with assay.store.begin() as db:
        given = await claim_key(db, scope, key, digest) if key else None
        if given is None:
            status, answer = await work(db)
            if key:
                await keep_answer(db, scope, key, status, msgspec.to_builtins(answer))
            return Response(answer, status_code=status)
    if given.request_digest != digest:
        raise Conflict("This Idempotency-Key was used for another request.", code="idempotency_key_reused")
    return Response(given.body, status_code=given.status, headers={REPLAYED: "true"})
