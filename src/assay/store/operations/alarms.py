"""Active alarms: one row per condition, from its detection until it clears."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, literal_column, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import alarm


async def replace_alarms(db: AsyncConnection, raised: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Replace the raised alarms. Returns the keys of new ones and of those that are over."""
    cleared_rows = delete(alarm).where(alarm.c.code.not_in(list(raised))).returning(alarm.c.code)
    cleared = set((await db.execute(cleared_rows)).scalars())
    if not raised:
        return set(), cleared
    fresh = insert(alarm).values([{"code": key, "message": message} for key, message in raised.items()])
    upserted = fresh.on_conflict_do_update(index_elements=[alarm.c.code], set_={"message": fresh.excluded.message})
    rows = await db.execute(upserted.returning(alarm.c.code, literal_column("xmax = 0").label("is_new")))
    return {row.code for row in rows if row.is_new}, cleared


async def list_alarms(db: AsyncConnection) -> Mapping[str, datetime]:
    """Return when each alarm was raised, by key."""
    rows = await db.execute(select(alarm.c.code, alarm.c.raised_at))
    return {row.code: row.raised_at for row in rows}
