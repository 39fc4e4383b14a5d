"""Search probes: the registry regularly searches for its own listings and records those it did not find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.skills.skills import IS_LIVE
from assay.store.tables import search_miss, search_probe, skill

MAX_EXAMPLES = 5
# Returns one row even without misses, and counts misses only up to a limit.
RECORD = text(
    """
    SELECT probed, missed, probed_at,
        (SELECT count(*) FROM (SELECT FROM search_miss LIMIT :at_most) AS few) AS open,
        ARRAY(SELECT skill.name FROM search_miss JOIN skill ON skill.id = search_miss.skill_id
            ORDER BY search_miss.missed_at, skill.name LIMIT :examples) AS examples
    FROM search_probe
    """
)


@dataclass(frozen=True)
class ProbeRecord:
    """Totals of probes and misses, the time of the last probe, and listings that are currently not found."""

    probed: int = 0
    missed: int = 0
    probed_at: datetime | None = None
    open: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProbeTarget:
    """A live listing to search for."""

    id: UUID
    name: str


async def list_probe_targets(db: AsyncConnection, after: str | None, limit: int) -> list[ProbeTarget]:
    """Return live listings by name, after a name."""
    statement = select(skill.c.id, skill.c.name).where(IS_LIVE, *([skill.c.name > after] if after else []))
    return [_target(row) for row in await db.execute(statement.order_by(skill.c.name).limit(limit))]


async def list_missed(db: AsyncConnection, limit: int) -> list[ProbeTarget]:
    """Return the listings missed longest ago, after deleting misses of listings that are no longer live."""
    not_live = select(skill.c.id).where(skill.c.id == search_miss.c.skill_id, ~IS_LIVE)
    await db.execute(delete(search_miss).where(not_live.exists()))
    statement = select(skill.c.id, skill.c.name).join_from(search_miss, skill).order_by(search_miss.c.missed_at)
    return [_target(row) for row in await db.execute(statement.limit(limit))]


async def is_listed(db: AsyncConnection, skill_id: UUID, name: str) -> bool:
    """Return whether the listing is still live under this name."""
    statement = select(skill.c.id).where(skill.c.id == skill_id, skill.c.name == name, IS_LIVE)
    return (await db.execute(statement)).one_or_none() is not None


async def record_probes(db: AsyncConnection, found: Sequence[UUID], missed: Mapping[UUID, str]) -> None:
    """Record the results of probes; `missed` maps listings to the query that did not find them."""
    await db.execute(delete(search_miss).where(search_miss.c.skill_id.in_(found)))
    if missed:
        rows = [{"skill_id": skill_id, "query": query} for skill_id, query in missed.items()]
        fresh = insert(search_miss).values(rows)
        updated = {"query": fresh.excluded.query}
        await db.execute(fresh.on_conflict_do_update(index_elements=[search_miss.c.skill_id], set_=updated))
    counted = {
        "probed": search_probe.c.probed + len(found) + len(missed),
        "missed": search_probe.c.missed + len(missed),
        "probed_at": func.now(),
    }
    await db.execute(update(search_probe).values(counted))


async def read_probes(db: AsyncConnection, *, at_most: int) -> ProbeRecord:
    """Return the record; misses are counted up to `at_most`."""
    row = (await db.execute(RECORD, {"at_most": at_most, "examples": MAX_EXAMPLES})).one_or_none()
    if row is None:
        return ProbeRecord()
    return ProbeRecord(row.probed, row.missed, row.probed_at, row.open, tuple(row.examples))


def _target(row: Any) -> ProbeTarget:
    return ProbeTarget(row.id, row.name)
