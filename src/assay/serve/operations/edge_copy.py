"""The catalogue while the database is away: from the copy at the edge, else its index, else the starter catalogue.

Only what answers in that time reads it. It is loaded once and kept while the copy stays the same, so that a request
costs the same whether it is the first or the ten-thousandth of an outage.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

import structlog

from assay.edge.enumerate import Tally, enumerate_published, read_value
from assay.edge.index import read_index, read_index_head, write_index
from assay.edge.keys import BLOCK, SUBMISSION, alias_key, detail_key, skill_key, submission_key
from assay.edge.kv import Edge, Item, below, walk
from assay.edge.state import read_state
from assay.edge.values import (
    AliasValue,
    BlockValue,
    DetailValue,
    SkillValue,
    SubmissionValue,
    Value,
    decode,
)
from assay.model.blocklist import BlocklistEntry
from assay.model.errors import Ambiguous, NotFound, Unavailable
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.serve.skills.listing import Listing
from assay.store.skills.names import MOST_CHOICES

log = structlog.get_logger()
Kind = TypeVar("Kind", bound=Value)
# What a search of the copy looks at; the rest of a long description is not worth the memory.
SEARCHED = 500
# A copy that could not be read as a whole is tried again after so long.
TRY_AGAIN = timedelta(seconds=5)


class Origin(StrEnum):
    """Where a degraded answer comes from, in the order in which they are tried."""

    ENUMERATION = "enumeration"
    INDEX = "index"
    STARTER = "starter"


@dataclass(frozen=True, slots=True)
class Card:
    """A listing as far as lists and searches need it. From the index it has all of it, else it is under its key."""

    name: str
    updated_at: datetime
    id: UUID
    text: str
    skill: Skill | None = None


@dataclass(frozen=True)
class Snapshot:
    """The whole catalogue of the copy, last updated first, and the moment until which it is complete."""

    origin: Origin
    as_of: datetime | None
    serial: int
    cards: tuple[Card, ...]
    unreadable: int
    loaded_at: datetime


@dataclass
class Repairs:
    """How often the index and the enumeration were found to differ, and how often the index was made anew."""

    differences: int = 0
    repairs: int = 0


class PublishedCopy:
    """The copy as one process reads it."""

    def __init__(self, edge: Edge, now: Callable[[], datetime]) -> None:
        self.edge, self._now = edge, now
        self._snapshot: Snapshot | None = None
        self._loading = asyncio.Lock()
        self._repairing: asyncio.Task[None] | None = None
        self.tally = Repairs()

    async def snapshot(self) -> Snapshot:
        """The catalogue, from the best source that answers."""
        # What is asked about is held on to: while somebody waits, the database may come back and have it forgotten.
        kept = self._snapshot
        if kept is not None and await self._is_current(kept):
            return kept
        async with self._loading:
            kept = self._snapshot  # somebody else may have loaded it meanwhile
            if kept is None or not await self._is_current(kept):
                kept = self._snapshot = await self._load()
            return kept

    def forget(self) -> None:
        """The database is back: give the memory back, too."""
        self._snapshot = None

    async def skills(self, cards: list[Card]) -> list[Skill]:
        """The listings behind cards; what was taken down meanwhile is left out."""
        known = {card.name: card.skill for card in cards if card.skill is not None}
        asked = [card.name for card in cards if card.skill is None]
        for name, raw in zip(asked, await self.edge.get([skill_key(name) for name in asked]), strict=True):
            value = read_value(Item(name, raw), SkillValue, Tally())
            if value is not None:
                known[name] = value.skill
        return [known[card.name] for card in cards if card.name in known]

    async def find(self, wanted: str) -> Listing:
        """A listing with its details, by its name or another one. Raises NotFound or Ambiguous as the database does."""
        name = await self._name(wanted.lower())
        [raw, detail] = await self.edge.get([skill_key(name), detail_key(name)])
        if raw is None:
            return await self._find_in_index(name, wanted)
        tally = Tally()
        value = read_value(Item(skill_key(name), raw), SkillValue, tally)
        rest = read_value(Item(detail_key(name), detail), DetailValue, tally)
        if tally.number:
            log.error("Values of the edge copy cannot be read", number=tally.number, keys=tally.keys)
        if value is None:
            return await self._find_in_index(name, wanted)
        return _listing(value.skill, rest) if rest else _bare(value.skill)

    async def submissions(self) -> list[Submission]:
        """What is under way."""
        values = [each async for each in self._values(SUBMISSION, SubmissionValue)]
        return [value.submission for value in values]

    async def find_submission(self, submission_id: UUID) -> Submission | None:
        """One that is under way; None says nothing about others."""
        [raw] = await self.edge.get([submission_key(submission_id)])
        return decode(raw, SubmissionValue).submission if raw is not None else None

    async def blocklist(self) -> list[BlocklistEntry]:
        """Every entry of the blocklist that holds, in the order of the ids."""
        return [value.entry async for value in self._values(BLOCK, BlockValue)]

    async def as_of(self) -> datetime | None:
        """The moment until which the copy is complete."""
        state = await read_state(self.edge)
        return state.as_of if state else None

    async def _is_current(self, kept: Snapshot) -> bool:
        try:
            is_same = await self.edge.read_serial() == kept.serial
        except Unavailable:
            return kept.origin is not Origin.STARTER or self._now() - kept.loaded_at < TRY_AGAIN
        return is_same and (kept.origin is Origin.ENUMERATION or self._now() - kept.loaded_at < TRY_AGAIN)

    async def _load(self) -> Snapshot:
        try:
            return await self._read()
        except Unavailable as problem:
            log.error("The edge copy cannot be read: the starter catalogue is shown", problem=problem.message)
            return Snapshot(Origin.STARTER, None, 0, (), 0, self._now())

    async def _read(self) -> Snapshot:
        """The larger one of enumeration and index; they differ only if something was lost, or not yet written."""
        serial, state = await self.edge.read_serial(), await read_state(self.edge)
        found = await enumerate_published(self.edge, _card)
        head = await read_index_head(self.edge)
        as_of = state.as_of if state else None
        if head is not None and head.count != len(found.found):
            self.tally.differences += 1
            log.error("Index and enumeration of the edge copy differ", index=head.count, enumerated=len(found.found))
        if head is not None and head.count > len(found.found):
            cards = [_card(skill, whole=True) async for part in read_index(self.edge, head) for skill in part]
            if len(cards) > len(found.found):
                ordered = await asyncio.to_thread(_ordered, cards)
                return Snapshot(Origin.INDEX, as_of, serial, ordered, found.unreadable, self._now())
        if not found.found:
            return Snapshot(Origin.STARTER, None, serial, (), found.unreadable, self._now())
        if head is None or head.count < len(found.found):
            self._repair()
        ordered = await asyncio.to_thread(_ordered, found.found)
        return Snapshot(Origin.ENUMERATION, as_of, serial, ordered, found.unreadable, self._now())

    def _repair(self) -> None:
        """Beside the request, which need not wait for it."""
        if self._repairing is None or self._repairing.done():
            self._repairing = asyncio.create_task(self._make_index())

    async def _make_index(self) -> None:
        try:
            if await write_index(self.edge, self._now()) is not None:
                self.tally.repairs += 1
                log.info("The index of the edge copy was repaired")
        except Unavailable as problem:
            log.warning("The index of the edge copy could not be repaired", problem=problem.message)

    async def _name(self, wanted: str) -> str:
        """The name that is meant by a name."""
        [raw, alias] = await self.edge.get([skill_key(wanted), alias_key(wanted)])
        if raw is not None:
            return wanted
        names = tuple(decode(alias, AliasValue).names) if alias is not None else await self._ending(wanted)
        if not names:
            return wanted
        if len(names) > 1:
            raise Ambiguous(f"Several skills are called {wanted}: {', '.join(names)}.", choices=names)
        return names[0]

    async def _ending(self, wanted: str) -> tuple[str, ...]:
        """The names of which this is the last part."""
        if "/" in wanted:
            return ()
        cards = (await self.snapshot()).cards
        return tuple(sorted(card.name for card in cards if card.name.rpartition("/")[2] == wanted)[:MOST_CHOICES])

    async def _find_in_index(self, name: str, wanted: str) -> Listing:
        """If keys were lost, the index may still have the listing, without its details."""
        snapshot = await self.snapshot()
        for card in snapshot.cards:
            if card.name == name and card.skill is not None:
                return _bare(card.skill)
        raise NotFound(f"There is no skill {wanted} in the copy of the catalogue.", code="skill_not_found")

    async def _values(self, prefix: str, kind: type[Kind]) -> AsyncIterator[Kind]:
        tally = Tally()
        async for page in walk(self.edge, below(prefix)):
            for item in page.items:
                value = read_value(item, kind, tally)
                if value is not None:
                    yield value
        if tally.number:
            log.error("Values of the edge copy cannot be read", number=tally.number, keys=tally.keys[:10])


def _listing(skill: Skill, rest: DetailValue) -> Listing:
    """What the copy has of a listing: not what each version changed, its tags, or who else has the same bytes."""
    unknown = dict.fromkeys((version.version for version in rest.versions), "")
    return Listing(skill, rest.versions, unknown, False, {}, rest.files, rest.scans, ())


def _bare(skill: Skill) -> Listing:
    """A listing whose details are lost."""
    return Listing(skill, [], {}, False, {}, [], [], ())


def _card(skill: Skill, *, whole: bool = False) -> Card:
    text = f"{skill.name} {skill.display_name} {skill.author} {skill.description[:SEARCHED]}".lower()
    return Card(skill.name, skill.updated_at, skill.id, text, skill if whole else None)


def _ordered(cards: list[Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards, key=lambda card: (card.updated_at, card.id.int), reverse=True))
