"""The index: all published skills in a few large values. A cache of the enumeration, and never more than that.

Whoever removes a skill removes the head of the index in the same step, and the sign of one that is being made: so
the index may lack what is new, but never has what was taken down.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import structlog
from msgspec import structs

from assay.edge.enumerate import Tally, read_value
from assay.edge.keys import INDEX, INDEX_PART, INDEX_UNDER_WAY, SKILL, part_key
from assay.edge.kv import Edge, Item, Page, below, walk
from assay.edge.values import IndexPart, IndexValue, SkillValue, encode
from assay.model.skill import Skill

log = structlog.get_logger()


async def read_index_head(edge: Edge) -> IndexValue | None:
    """What the index says of itself; None if there is none that can be read."""
    [raw] = await edge.get([INDEX])
    return read_value(Item(INDEX, raw), IndexValue, Tally()) if raw is not None else None


async def read_index(edge: Edge, head: IndexValue) -> AsyncIterator[list[Skill]]:
    """The listings of the index, part by part; a part that cannot be read is logged."""
    for number in range(head.parts):
        key, tally = part_key(number), Tally()
        [raw] = await edge.get([key])
        part = read_value(Item(key, raw), IndexPart, tally)
        if part is None:
            log.error("A part of the index of the edge copy cannot be read", key=key)
        else:
            yield part.skills


async def write_index(edge: Edge, now: datetime) -> IndexValue | None:
    """Make the index anew from the enumeration, in bounded memory, beside whoever writes to the copy.

    None if a listing was taken down meanwhile: it may be in a part that was written before.
    """
    await _write(edge, {INDEX_UNDER_WAY: b""})
    count, parts, after = 0, 0, None
    while True:
        page = await edge.page(below(SKILL), after=after)
        skills = await asyncio.to_thread(_skills_in, page)
        serial = await edge.read_serial()
        await _write(edge, {part_key(parts): encode(IndexPart(serial=serial, skills=skills))})
        count, parts, after = count + len(skills), parts + 1, page.next_cursor
        if after is None:
            break
    surplus = [item.key async for page in walk(edge, below(INDEX_PART), limit=10) for item in page.items][parts:]
    return await _finish(edge, IndexValue(serial=0, count=count, parts=parts, written_at=now), surplus)


async def _finish(edge: Edge, head: IndexValue, surplus: list[str]) -> IndexValue | None:
    """The head goes in only if nobody has taken away the sign that it may."""
    while True:
        serial = await edge.read_serial()
        if await edge.get([INDEX_UNDER_WAY]) == [None]:
            return None
        done = structs.replace(head, serial=serial)
        if await edge.write({INDEX: encode(done)}, {*surplus, INDEX_UNDER_WAY}, since=serial, serial=serial):
            return done


async def _write(edge: Edge, puts: dict[str, bytes]) -> None:
    """Whatever the serial is."""
    while True:
        serial = await edge.read_serial()
        if await edge.write(puts, (), since=serial, serial=serial):
            return


def _skills_in(page: Page) -> list[Skill]:
    values = [read_value(item, SkillValue, Tally()) for item in page.items]
    return [value.skill for value in values if value is not None]
