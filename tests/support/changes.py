"""Entries of the change feed."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


async def note(db: AsyncConnection, name: str) -> None:
    """Append an entry."""
    statement = text("INSERT INTO change (kind, data) VALUES ('publish', jsonb_build_object('name', CAST(:n AS text)))")
    await db.execute(statement, {"n": name})
