"""Idempotency keys: a repeated request gets the stored response of the first one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import given_answer


@dataclass(frozen=True)
class StoredResponse:
    """The digest of a request and the response it got."""

    request_digest: str
    status: int
    body: Mapping[str, Any]


async def claim_key(db: AsyncConnection, scope: str, key: str, request_digest: str) -> StoredResponse | None:
    """Claim a key: None if it was unused, else the stored response. Waits for a concurrent request with the key."""
    fresh = upsert(given_answer).values(scope=scope, key=key, request_digest=request_digest)
    claimed = await db.execute(fresh.on_conflict_do_nothing().returning(given_answer.c.key))
    if claimed.one_or_none() is not None:
        return None
    statement = select(given_answer.c.request_digest, given_answer.c.status, given_answer.c.body)
    row = (await db.execute(statement.where(given_answer.c.scope == scope, given_answer.c.key == key))).one()
    return StoredResponse(*row)


async def store_response(db: AsyncConnection, scope: str, key: str, status: int, body: Mapping[str, Any]) -> None:
    """Store the response, in the transaction that makes the changes it reports."""
    stored = update(given_answer).where(given_answer.c.scope == scope, given_answer.c.key == key)
    await db.execute(stored.values(status=status, body=dict(body)))
