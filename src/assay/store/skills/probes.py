"""What the registry knows of its own searches: how often it has looked for listed skills, and which were not found."""

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

MOST_EXAMPLES = 5
# One row, also if nothing was missed; and how many there are, without looking at all of them.
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
    """How many skills were looked for and not found in all, when last, and which are still missed."""

    probed: int = 0
    missed: int = 0
    probed_at: datetime | None = None
    open: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probed:
    """A live listing to look for."""

    id: UUID
    name: str


async def list_to_probe(db: AsyncConnection, after: str | None, limit: int) -> list[Probed]:
    """Live listings in the order of their names, from after one of them."""
    statement = select(skill.c.id, skill.c.name).where(IS_LIVE, *([skill.c.name > after] if after else []))
    return [_probed(row) for row in await db.execute(statement.order_by(skill.c.name).limit(limit))]


async def list_missed(db: AsyncConnection, limit: int) -> list[Probed]:
    """Those that were missed longest ago; what is no longer live is no longer missed."""
    gone = select(skill.c.id).where(skill.c.id == search_miss.c.skill_id, ~IS_LIVE)
    await db.execute(delete(search_miss).where(gone.exists()))
    statement = select(skill.c.id, skill.c.name).join_from(search_miss, skill).order_by(search_miss.c.missed_at)
    return [_probed(row) for row in await db.execute(statement.limit(limit))]


async def is_listed(db: AsyncConnection, skill_id: UUID, name: str) -> bool:
    """Whether the listing is still live under this name."""
    statement = select(skill.c.id).where(skill.c.id == skill_id, skill.c.name == name, IS_LIVE)
    return (await db.execute(statement)).one_or_none() is not None


async def record_probes(db: AsyncConnection, found: Sequence[UUID], missed: Mapping[UUID, str]) -> None:
    """What was found is no longer missed; what was missed is, with the words that did not find it."""
    await db.execute(delete(search_miss).where(search_miss.c.skill_id.in_(found)))
    if missed:
        rows = [{"skill_id": skill_id, "query": query} for skill_id, query in missed.items()]
        fresh = insert(search_miss).values(rows)
        again = {"query": fresh.excluded.query}
        await db.execute(fresh.on_conflict_do_update(index_elements=[search_miss.c.skill_id], set_=again))
    counted = {
        "probed": search_probe.c.probed + len(found) + len(missed),
        "missed": search_probe.c.missed + len(missed),
        "probed_at": func.now(),
    }
    await db.execute(update(search_probe).values(counted))


async def read_probes(db: AsyncConnection, *, at_most: int) -> ProbeRecord:
    """The record; the misses are counted up to a number."""
    row = (await db.execute(RECORD, {"at_most": at_most, "examples": MOST_EXAMPLES})).one_or_none()
    if row is None:
        return ProbeRecord()
    return ProbeRecord(row.probed, row.missed, row.probed_at, row.open, tuple(row.examples))


def _probed(row: Any) -> Probed:
    return Probed(row.id, row.name)
