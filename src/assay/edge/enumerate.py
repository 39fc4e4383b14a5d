"""Enumeration of all published skills from their keys: in parallel, page by page, counting unreadable values."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from assay.edge.keys import SKILL
from assay.edge.kv import PAGE, Edge, Item, KeyRange, iterate_pages, prefix_range
from assay.edge.values import EdgeValue, SkillValue, decode
from assay.model.skill import Skill

log = structlog.get_logger()
Converted = TypeVar("Converted")
ValueT = TypeVar("ValueT", bound=EdgeValue)
# Names start with letters or digits of any alphabet; these split points give ranges of similar size.
CUTS = "3", "8", "b", "d", "g", "j", "m", "o", "r", "t", "w"
MAX_UNREADABLE_SHOWN = 100


@dataclass(frozen=True)
class Enumeration(Generic[Converted]):
    """The converted skills, the number of unreadable values, and the first of their keys."""

    found: list[Converted]
    unreadable: int = 0
    unreadable_keys: tuple[str, ...] = ()


@dataclass
class UnreadableKeys:
    """Counts unreadable values and remembers the first keys."""

    number: int = 0
    keys: list[str] = field(default_factory=list)

    def add(self, key: str) -> None:
        self.number += 1
        if len(self.keys) < MAX_UNREADABLE_SHOWN:
            self.keys.append(key)


async def enumerate_published(
    edge: Edge, convert: Callable[[Skill], Converted], *, cuts: Sequence[str] = CUTS, limit: int = PAGE
) -> Enumeration[Converted]:
    """Return `convert(skill)` of every published skill, ordered by name. `limit` is the page size."""
    unreadable = UnreadableKeys()

    async def read_range(keys: KeyRange) -> list[Converted]:
        found: list[Converted] = []
        async for page in iterate_pages(edge, keys, limit=limit):
            found += await asyncio.to_thread(_convert_all, page.items, convert, unreadable)
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read_range(keys)) for keys in ranges(SKILL, cuts)]
    if unreadable.number:
        log.error("Edge copy has unreadable values", number=unreadable.number, keys=unreadable.keys[:10])
    found = [each for task in tasks for each in task.result()]
    return Enumeration(found, unreadable.number, tuple(sorted(unreadable.keys)))


def ranges(prefix: str, cuts: Sequence[str]) -> list[KeyRange]:
    """Split the keys with a prefix into consecutive ranges."""
    whole = prefix_range(prefix)
    starts = [whole.start, *(f"{prefix}{cut}" for cut in cuts)]
    return [KeyRange(start, stop) for start, stop in zip(starts, [*starts[1:], whole.stop], strict=True)]


def read_value(item: Item, kind: type[ValueT], unreadable: UnreadableKeys) -> ValueT | None:
    """Return the decoded value, or add the key to `unreadable` and return None."""
    if item.value is not None:
        with suppress(ValueError):
            return decode(item.value, kind)
    unreadable.add(item.key)
    return None


def _convert_all(
    items: Sequence[Item], convert: Callable[[Skill], Converted], unreadable: UnreadableKeys
) -> list[Converted]:
    values = (read_value(item, SkillValue, unreadable) for item in items)
    return [convert(value.skill) for value in values if value is not None]
