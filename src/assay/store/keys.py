"""The public halves of the keys that sign hallmarks."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import signing_key


async def register_key(db: AsyncConnection, key_id: str, public_key: str) -> None:
    """Idempotent; a key once used stays known, so that old hallmarks can be checked."""
    statement = upsert(signing_key).values(id=key_id, public_key=public_key)
    await db.execute(statement.on_conflict_do_nothing())


async def list_keys(db: AsyncConnection) -> list[tuple[str, str, datetime]]:
    """Id, public key (PEM) and first use, oldest first."""
    statement = select(signing_key.c.id, signing_key.c.public_key, signing_key.c.created_at)
    return [tuple(row) for row in await db.execute(statement.order_by(signing_key.c.created_at))]
