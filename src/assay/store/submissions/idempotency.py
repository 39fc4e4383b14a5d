"""Answers given before, by the key that the client chose: a request sent again gets the same answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import given_answer


@dataclass(frozen=True)
class GivenAnswer:
    """What was asked under a key, and what was answered."""

    request_digest: str
    status: int
    body: Mapping[str, Any]


async def claim_key(db: AsyncConnection, scope: str, key: str, request_digest: str) -> GivenAnswer | None:
    """None if the key is now ours; the answer if it was used before, waiting for one that is being given."""
    mine = upsert(given_answer).values(scope=scope, key=key, request_digest=request_digest)
    claimed = await db.execute(mine.on_conflict_do_nothing().returning(given_answer.c.key))
    if claimed.one_or_none() is not None:
        return None
    statement = select(given_answer.c.request_digest, given_answer.c.status, given_answer.c.body)
    row = (await db.execute(statement.where(given_answer.c.scope == scope, given_answer.c.key == key))).one()
    return GivenAnswer(*row)


async def keep_answer(db: AsyncConnection, scope: str, key: str, status: int, body: Mapping[str, Any]) -> None:
    """Kept in the transaction that did what it says."""
    ours = update(given_answer).where(given_answer.c.scope == scope, given_answer.c.key == key)
    await db.execute(ours.values(status=status, body=dict(body)))
