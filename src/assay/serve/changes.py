"""The change feed, for mirrors and everyone who follows."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import PUBLIC_KINDS
from assay.store.changes import Change, number_changes, read_changes
from assay.store.database import Database


@dataclass(frozen=True)
class ChangesPage:
    """Changes in order, and the serial to ask after next time."""

    changes: list[Change]
    next_since: int


async def follow_changes(store: Database, *, since: int, limit: int) -> ChangesPage:
    """Everything public after a serial; nothing is ever skipped, also if it commits late."""
    async with store.begin() as db:
        await number_changes(db)
    async with store.begin() as db:
        changes = await _public(db, since, limit)
    return ChangesPage(changes, changes[-1].serial if changes else since)


async def _public(db: AsyncConnection, since: int, limit: int) -> list[Change]:
    return await read_changes(db, since, limit, PUBLIC_KINDS)
