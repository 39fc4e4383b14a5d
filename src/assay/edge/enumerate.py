"""All published skills, from their own keys: in parallel, page by page, and nothing is left out in silence."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from assay.edge.keys import SKILL
from assay.edge.kv import PAGE, Edge, Item, Range, below, walk
from assay.edge.values import SkillValue, Value, decode
from assay.model.skill import Skill

log = structlog.get_logger()
Kept = TypeVar("Kept")
Kind = TypeVar("Kind", bound=Value)
# Names begin with letters and digits of any alphabet; these cut them into pieces of about one size.
CUTS = "3", "8", "b", "d", "g", "j", "m", "o", "r", "t", "w"
SHOWN_UNREADABLE = 100


@dataclass(frozen=True)
class Enumeration(Generic[Kept]):
    """What was found, and the keys whose values cannot be read: how many, and the first of them."""

    found: list[Kept]
    unreadable: int = 0
    unreadable_keys: tuple[str, ...] = ()


@dataclass
class Tally:
    """Counts what cannot be read."""

    number: int = 0
    keys: list[str] = field(default_factory=list)

    def note(self, key: str) -> None:
        """One more."""
        self.number += 1
        if len(self.keys) < SHOWN_UNREADABLE:
            self.keys.append(key)


async def enumerate_published(
    edge: Edge, keep: Callable[[Skill], Kept], *, cuts: Sequence[str] = CUTS, limit: int = PAGE
) -> Enumeration[Kept]:
    """What `keep` makes of each published skill, in the order of the names. There is no limit to their number."""
    tally = Tally()

    async def piece(keys: Range) -> list[Kept]:
        found: list[Kept] = []
        async for page in walk(edge, keys, limit=limit):
            found += await asyncio.to_thread(_read_all, page.items, keep, tally)
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(piece(keys)) for keys in ranges(SKILL, cuts)]
    if tally.number:
        log.error("Values of the edge copy cannot be read", number=tally.number, keys=tally.keys[:10])
    found = [each for task in tasks for each in task.result()]
    return Enumeration(found, tally.number, tuple(sorted(tally.keys)))


def ranges(prefix: str, cuts: Sequence[str]) -> list[Range]:
    """The keys with a prefix, cut into pieces."""
    whole = below(prefix)
    starts = [whole.start, *(f"{prefix}{cut}" for cut in cuts)]
    return [Range(start, stop) for start, stop in zip(starts, [*starts[1:], whole.stop], strict=True)]


def read_value(item: Item, kind: type[Kind], tally: Tally) -> Kind | None:
    """The value, or None and one more that cannot be read."""
    if item.value is not None:
        with suppress(ValueError):
            return decode(item.value, kind)
    tally.note(item.key)
    return None


def _read_all(items: Sequence[Item], keep: Callable[[Skill], Kept], tally: Tally) -> list[Kept]:
    values = (read_value(item, SkillValue, tally) for item in items)
    return [keep(value.skill) for value in values if value is not None]
