"""The index: all published skills in a few large values. A cache of the enumeration, and never more than that.

Whoever removes a skill removes the head of the index in the same step (see projection/write.py), so the index may lack
what is new, but never has what was taken down.
"""

from collections.abc import AsyncIterator
from datetime import datetime

import structlog

from assay.edge.enumerate import Tally, read_value
from assay.edge.keys import INDEX, INDEX_PART, SKILL, part_key
from assay.edge.kv import Edge, Item, below, walk
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
    """Make the index anew from the enumeration, in bounded memory; None if the copy changed too much meanwhile."""
    serial = await edge.read_serial()
    count, parts = 0, 0
    async for page in walk(edge, below(SKILL)):
        tally = Tally()
        values = [read_value(item, SkillValue, tally) for item in page.items]
        skills = [value.skill for value in values if value is not None]
        part = {part_key(parts): encode(IndexPart(serial=serial, skills=skills))}
        if not await edge.write(part, (), since=serial, serial=serial):
            return None
        count, parts = count + len(skills), parts + 1
    head = IndexValue(serial=serial, count=count, parts=parts, written_at=now)
    surplus = [item.key async for page in walk(edge, below(INDEX_PART), limit=10) for item in page.items][parts:]
    written = await edge.write({INDEX: encode(head)}, surplus, since=serial, serial=serial)
    return head if written else None
