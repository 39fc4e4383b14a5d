"""The public halves of the keys that sign hallmarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import signing_key


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A public key (PEM), since when it is used, and since when no more."""

    id: str
    public_key: str
    algorithm: str
    created_at: datetime
    retired_at: datetime | None


async def register_keys(db: AsyncConnection, keys: Sequence[tuple[str, str, str]]) -> None:
    """Id, public key and kind of each. Idempotent; a key once used stays known, to check what it has signed."""
    rows = [{"id": number, "public_key": pem, "algorithm": str(kind)} for number, pem, kind in keys]
    await db.execute(upsert(signing_key).values(rows).on_conflict_do_nothing())


async def retire_keys(db: AsyncConnection, ids: Sequence[str]) -> None:
    """Others have taken their place; what they have signed stays good."""
    statement = update(signing_key).where(signing_key.c.id.in_(ids), signing_key.c.retired_at.is_(None))
    await db.execute(statement.values(retired_at=func.now()))


async def list_keys(db: AsyncConnection) -> list[KnownKey]:
    """Oldest first."""
    columns = signing_key.c
    statement = select(
        columns.id, columns.public_key, columns.algorithm, columns.created_at, columns.retired_at
    ).order_by(columns.created_at, columns.id)
    return [KnownKey(*row) for row in await db.execute(statement)]
