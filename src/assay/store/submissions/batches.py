"""A batch of submissions, announced as a whole."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import change


async def announce_batch(db: AsyncConnection, batch: UUID, count: int, about: Mapping[str, str | None]) -> None:
    """One change record for all that were created together; each of theirs carries the id of the batch."""
    data = {"batch": str(batch), "count": count, **about}
    await db.execute(insert(change).values(kind="bulk", data=data))
