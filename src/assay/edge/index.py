"""The index: all published skills in a few large values, as a cache of the enumeration.

Deleting a skill also deletes the head of the index and the marker of an index being built, in the same write. The index
may therefore lack new listings, but never contains a removed one.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import structlog
from msgspec import structs

from assay.edge.enumerate import UnreadableKeys, read_value
from assay.edge.keys import INDEX, INDEX_BUILDING, INDEX_PART, SKILL, part_key
from assay.edge.kv import Edge, Item, KeyPage, iterate_pages, prefix_range
from assay.edge.values import IndexPart, IndexValue, SkillValue, encode
from assay.model.skill import Skill

log = structlog.get_logger()


async def read_index_head(edge: Edge) -> IndexValue | None:
    """Return the head of the index; None if it is missing or unreadable."""
    [raw] = await edge.get([INDEX])
    return read_value(Item(INDEX, raw), IndexValue, UnreadableKeys()) if raw is not None else None


async def read_index(edge: Edge, head: IndexValue) -> AsyncIterator[list[Skill]]:
    """Yield the listings of each part; unreadable parts are logged and skipped."""
    for number in range(head.parts):
        key = part_key(number)
        [raw] = await edge.get([key])
        part = read_value(Item(key, raw), IndexPart, UnreadableKeys())
        if part is None:
            log.error("Part of the edge copy index is unreadable", key=key)
        else:
            yield part.skills


async def write_index(edge: Edge, now: datetime) -> IndexValue | None:
    """Rebuild the index from the enumeration, in bounded memory, while others write to the copy.

    Returns None if a listing was removed meanwhile, because a part written earlier may contain it.
    """
    await _write(edge, {INDEX_BUILDING: b""})
    count, parts, after = 0, 0, None
    while True:
        page = await edge.page(prefix_range(SKILL), after=after)
        skills = await asyncio.to_thread(_skills_in, page)
        serial = await edge.read_serial()
        await _write(edge, {part_key(parts): encode(IndexPart(serial=serial, skills=skills))})
        count, parts, after = count + len(skills), parts + 1, page.next_cursor
        if after is None:
            break
    surplus = [
        item.key async for page in iterate_pages(edge, prefix_range(INDEX_PART), limit=10) for item in page.items
    ][parts:]
    return await _finish(edge, IndexValue(serial=0, count=count, parts=parts, written_at=now), surplus)


async def _finish(edge: Edge, head: IndexValue, surplus: list[str]) -> IndexValue | None:
    """Write the head unless the marker was deleted."""
    while True:
        serial = await edge.read_serial()
        if await edge.get([INDEX_BUILDING]) == [None]:
            return None
        done = structs.replace(head, serial=serial)
        if await edge.write({INDEX: encode(done)}, {*surplus, INDEX_BUILDING}, since=serial, serial=serial):
            return done


async def _write(edge: Edge, puts: dict[str, bytes]) -> None:
    """Write, retrying until the serial does not change in between."""
    while True:
        serial = await edge.read_serial()
        if await edge.write(puts, (), since=serial, serial=serial):
            return


def _skills_in(page: KeyPage) -> list[Skill]:
    values = [read_value(item, SkillValue, UnreadableKeys()) for item in page.items]
    return [value.skill for value in values if value is not None]
