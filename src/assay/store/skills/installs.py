"""Installs: reports of clients (one per client, skill and day), daily totals, and the sums shown on listings.

A report identifies its client only by a keyed digest and is deleted after a week. Daily totals are kept.
"""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.locks import INSTALLS, lock_key
from assay.store.tables import install_event

KEEP_DAYS = 7
LOCK = text("SELECT pg_advisory_xact_lock(:locks, :number)")
DELETE_AT_MOST = 50_000
# Recounts the last counted day and the one before, because a report may arrive while a day ends. Totals never shrink,
# although reports are deleted.
COUNT = text(
    """
    WITH since AS (SELECT max(day) - 1 AS day FROM install_day)
    INSERT INTO install_day AS kept (skill_id, day, number)
    SELECT event.skill_id, event.day, count(*)
    FROM install_event AS event, since
    WHERE since.day IS NULL OR event.day >= since.day
    GROUP BY event.skill_id, event.day ORDER BY event.skill_id, event.day
    ON CONFLICT (skill_id, day) DO UPDATE SET number = excluded.number WHERE kept.number < excluded.number
    """
)
SUMS = """
    SELECT skill_id, sum(number) AS installs,
        coalesce(sum(number) FILTER (WHERE day > CAST(:today AS date) - 7), 0) AS trending_7d,
        coalesce(sum(number) FILTER (WHERE day > CAST(:today AS date) - 30), 0) AS trending_30d
    FROM install_day
    """
# Listings with recent installs, and those whose installs have just left the 30-day window.
WRITE = text(
    f"""
    UPDATE skill SET installs = sums.installs, trending_7d = sums.trending_7d, trending_30d = sums.trending_30d
    FROM (
        {SUMS}
        WHERE skill_id IN (SELECT skill_id FROM install_day WHERE day > CAST(:today AS date) - 60)
        GROUP BY skill_id
    ) AS sums
    WHERE skill.id = sums.skill_id
        AND (skill.installs, skill.trending_7d, skill.trending_30d)
            IS DISTINCT FROM (sums.installs, sums.trending_7d, sums.trending_30d)
    """
)
DELETE_OLD = text(
    """
    DELETE FROM install_event WHERE (skill_id, day, client) IN (
        SELECT skill_id, day, client FROM install_event WHERE day < CAST(:today AS date) - CAST(:kept_days AS int)
        ORDER BY day LIMIT :at_most
    )
    """
)
WRONG = text(
    f"""
    SELECT skill.name FROM skill LEFT JOIN ({SUMS} GROUP BY skill_id) AS sums ON sums.skill_id = skill.id
    WHERE (skill.installs, skill.trending_7d, skill.trending_30d)
        IS DISTINCT FROM (coalesce(sums.installs, 0), coalesce(sums.trending_7d, 0), coalesce(sums.trending_30d, 0))
    ORDER BY skill.name
    """
)


async def add_installs(
    db: AsyncConnection, installs: Sequence[tuple[UUID, str | None]], *, client: str, day: date, at_most: int
) -> int:
    """Add reports of one client, as skills and versions, for `at_most` skills a day; 0 is no limit. Returns how many
    were added.

    Waits for other reports of the client, so that concurrent ones cannot exceed the limit together.
    """
    if not installs:
        return 0
    await db.execute(LOCK, {"locks": INSTALLS, "number": lock_key(client)})
    of_client = (install_event.c.day == day, install_event.c.client == client)
    known = set((await db.execute(select(install_event.c.skill_id).where(*of_client))).scalars())
    fresh = {skill_id: version for skill_id, version in sorted(dict(installs).items()) if skill_id not in known}
    rows = [
        {"skill_id": skill_id, "day": day, "client": client, "version": version}
        for skill_id, version in list(fresh.items())[: max(0, at_most - len(known)) if at_most else None]
    ]
    if rows:
        await db.execute(insert(install_event).values(rows).on_conflict_do_nothing())
    return len(rows)


async def fold_installs(db: AsyncConnection, today: date) -> int:
    """Update daily totals and the sums of listings, and delete old reports. Returns how many listings changed."""
    await db.execute(COUNT)
    changed = (await db.execute(WRITE, {"today": today})).rowcount
    await db.execute(DELETE_OLD, {"today": today, "kept_days": KEEP_DAYS, "at_most": DELETE_AT_MOST})
    return changed


async def find_wrong_installs(db: AsyncConnection, today: date) -> list[str]:
    """Return the names of listings whose numbers differ from the sums of their days. There should be none."""
    return list((await db.execute(WRONG, {"today": today})).scalars())
