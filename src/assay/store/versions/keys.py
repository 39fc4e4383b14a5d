"""Public keys that verify hallmarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import signing_key


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A public key in PEM format, and when it was first used and retired."""

    id: str
    public_key: str
    algorithm: str
    created_at: datetime
    retired_at: datetime | None


async def register_keys(db: AsyncConnection, keys: Sequence[tuple[str, str, str]]) -> None:
    """Register id, public key and algorithm of each key. Idempotent. Keys stay known, to verify old signatures."""
    rows = [{"id": number, "public_key": pem, "algorithm": str(kind)} for number, pem, kind in keys]
    await db.execute(upsert(signing_key).values(rows).on_conflict_do_nothing())


async def retire_keys(db: AsyncConnection, ids: Sequence[str]) -> None:
    """Mark keys as replaced. What they signed stays valid."""
    statement = update(signing_key).where(signing_key.c.id.in_(ids), signing_key.c.retired_at.is_(None))
    await db.execute(statement.values(retired_at=func.now()))


async def list_keys(db: AsyncConnection) -> list[KnownKey]:
    columns = signing_key.c
    statement = select(
        columns.id, columns.public_key, columns.algorithm, columns.created_at, columns.retired_at
    ).order_by(columns.created_at, columns.id)
    return [KnownKey(*row) for row in await db.execute(statement)]
