"""The catalogue in degraded mode: from the edge copy, its index, or the starter catalogue.

Only used while the database is down. Loaded once and cached while the copy does not change, so that every request of an
outage costs the same.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

import structlog

from assay.edge.enumerate import UnreadableKeys, enumerate_published, read_value
from assay.edge.index import read_index, read_index_head, write_index
from assay.edge.keys import BLOCK, SUBMISSION, alias_key, detail_key, skill_key, submission_key
from assay.edge.kv import Edge, Item, iterate_pages, prefix_range
from assay.edge.state import read_state
from assay.edge.values import (
    AliasValue,
    BlockValue,
    DetailValue,
    EdgeValue,
    SkillValue,
    SubmissionValue,
    decode,
)
from assay.model.blocklist import BlocklistEntry
from assay.model.errors import Ambiguous, NotFound, Unavailable
from assay.model.repository import Host
from assay.model.skill import Skill, slug_in
from assay.model.submission import Submission
from assay.serve.skills.listing import Listing
from assay.store.skills.names import MAX_CHOICES

log = structlog.get_logger()
ValueT = TypeVar("ValueT", bound=EdgeValue)
# Length of the description that is searched; the rest is not worth the memory.
SEARCHED = 500
# Retry interval after an incomplete read.
TRY_AGAIN = timedelta(seconds=5)


class EdgeOrigin(StrEnum):
    """The source of a degraded response, in order of preference."""

    ENUMERATION = "enumeration"
    INDEX = "index"
    STARTER = "starter"


@dataclass(frozen=True, slots=True)
class Card:
    """The fields of a listing that lists and searches need; `skill` is set only if it comes from the index."""

    name: str
    updated_at: datetime
    id: UUID
    text: str
    named_at: datetime
    is_upload: bool
    skill: Skill | None = None


@dataclass(frozen=True)
class Snapshot:
    """The whole catalogue, last updated first; `as_of` is when the copy was last complete."""

    origin: EdgeOrigin
    as_of: datetime | None
    serial: int
    cards: tuple[Card, ...]
    unreadable: int
    loaded_at: datetime


@dataclass
class Repairs:
    """Counts differences between index and enumeration, and repairs of the index."""

    differences: int = 0
    repairs: int = 0


class PublishedCopy:
    """The edge copy as read by one process."""

    def __init__(self, edge: Edge, now: Callable[[], datetime]) -> None:
        self.edge, self._now = edge, now
        self._snapshot: Snapshot | None = None
        self._loading = asyncio.Lock()
        self._repairing: asyncio.Task[None] | None = None
        self.tally = Repairs()

    async def snapshot(self) -> Snapshot:
        """Return the catalogue from the best available source."""
        # A local reference, because `forget` may clear the attribute while this waits.
        cached = self._snapshot
        if cached is not None and await self._is_current(cached):
            return cached
        async with self._loading:
            cached = self._snapshot  # another task may have loaded it meanwhile
            if cached is None or not await self._is_current(cached):
                cached = self._snapshot = await self._load()
            return cached

    def forget(self) -> None:
        """Free the memory when the database is back."""
        self._snapshot = None

    async def skills(self, cards: list[Card]) -> list[Skill]:
        """Return the listings of cards; those removed meanwhile are left out."""
        known = {card.name: card.skill for card in cards if card.skill is not None}
        missing = [card.name for card in cards if card.skill is None]
        for name, raw in zip(missing, await self.edge.get([skill_key(name) for name in missing]), strict=True):
            value = read_value(Item(name, raw), SkillValue, UnreadableKeys())
            if value is not None:
                known[name] = value.skill
        return [known[card.name] for card in cards if card.name in known]

    async def find(self, query: str) -> Listing:
        """Return a listing by name or alias; raises NotFound or Ambiguous like the database query."""
        name = await self._resolve(query.lower())
        [raw, detail] = await self.edge.get([skill_key(name), detail_key(name)])
        if raw is None:
            return await self._find_in_index(name, query)
        unreadable = UnreadableKeys()
        value = read_value(Item(skill_key(name), raw), SkillValue, unreadable)
        rest = read_value(Item(detail_key(name), detail), DetailValue, unreadable)
        if unreadable.number:
            log.error("Edge copy has unreadable values", number=unreadable.number, keys=unreadable.keys)
        if value is None:
            return await self._find_in_index(name, query)
        return _listing(value.skill, rest) if rest else _bare(value.skill)

    async def submissions(self) -> list[Submission]:
        """Return the active submissions in the order of their jobs, by which those of one priority are claimed."""
        values = [each async for each in self._values(SUBMISSION, SubmissionValue)]
        values.sort(key=lambda each: (each.job_id or 0, each.submission.received_at, each.submission.id))
        return [value.submission for value in values]

    async def find_submission(self, submission_id: UUID) -> Submission | None:
        """Return an active submission; None also stands for submissions in other states."""
        [raw] = await self.edge.get([submission_key(submission_id)])
        return decode(raw, SubmissionValue).submission if raw is not None else None

    async def blocklist(self) -> list[BlocklistEntry]:
        """Return the entries in force, ordered by id."""
        return [value.entry async for value in self._values(BLOCK, BlockValue)]

    async def as_of(self) -> datetime | None:
        """Return when the copy was last complete."""
        state = await read_state(self.edge)
        return state.as_of if state else None

    async def _is_current(self, cached: Snapshot) -> bool:
        try:
            is_same = await self.edge.read_serial() == cached.serial
        except Unavailable:
            return cached.origin is not EdgeOrigin.STARTER or self._now() - cached.loaded_at < TRY_AGAIN
        return is_same and (cached.origin is EdgeOrigin.ENUMERATION or self._now() - cached.loaded_at < TRY_AGAIN)

    async def _load(self) -> Snapshot:
        try:
            return await self._read()
        except Unavailable as error:
            log.error("Failed to read edge copy: serving starter catalogue", error=error.message)
            return Snapshot(EdgeOrigin.STARTER, None, 0, (), 0, self._now())

    async def _read(self) -> Snapshot:
        """Read the larger of enumeration and index; they differ only if keys were lost or the index is stale."""
        serial, state = await self.edge.read_serial(), await read_state(self.edge)
        found = await enumerate_published(self.edge, _card)
        head = await read_index_head(self.edge)
        as_of = state.as_of if state else None
        if head is not None and head.count != len(found.found):
            self.tally.differences += 1
            log.error("Edge copy index and enumeration differ", index=head.count, enumerated=len(found.found))
        if head is not None and head.count > len(found.found):
            cards = [_card(skill, whole=True) async for part in read_index(self.edge, head) for skill in part]
            if len(cards) > len(found.found):
                ordered = await asyncio.to_thread(_ordered, cards)
                return Snapshot(EdgeOrigin.INDEX, as_of, serial, ordered, found.unreadable, self._now())
        if not found.found:
            return Snapshot(EdgeOrigin.STARTER, None, serial, (), found.unreadable, self._now())
        if head is None or head.count < len(found.found):
            self._repair()
        ordered = await asyncio.to_thread(_ordered, found.found)
        return Snapshot(EdgeOrigin.ENUMERATION, as_of, serial, ordered, found.unreadable, self._now())

    def _repair(self) -> None:
        """Rebuild the index in the background, without delaying the request."""
        if self._repairing is None or self._repairing.done():
            self._repairing = asyncio.create_task(self._write_index())

    async def _write_index(self) -> None:
        try:
            if await write_index(self.edge, self._now()) is not None:
                self.tally.repairs += 1
                log.info("Repaired edge copy index")
        except Unavailable as error:
            log.warning("Failed to repair edge copy index", error=error.message)

    async def _resolve(self, query: str) -> str:
        """Return the name of the listing meant by a name, an alias or a slug."""
        [raw, alias] = await self.edge.get([skill_key(query), alias_key(query)])
        if raw is not None:
            return query
        names = tuple(decode(alias, AliasValue).names) if alias is not None else await self._names_with_slug(query)
        if not names:
            return query
        if len(names) > 1:
            raise Ambiguous(f"Several skills are called {query}: {', '.join(names)}.", choices=names)
        return names[0]

    async def _names_with_slug(self, slug: str) -> tuple[str, ...]:
        if "/" in slug:
            return ()
        named = [card for card in (await self.snapshot()).cards if slug_in(card.name) == slug]
        first = min(named, key=lambda card: (card.named_at, card.id), default=None)
        # Like `resolve_name`: an upload has a flat name only if it was the first listing with it.
        return tuple(sorted(card.name for card in named if not card.is_upload or card is first)[:MAX_CHOICES])

    async def _find_in_index(self, name: str, query: str) -> Listing:
        """Return a listing without details from the index, which may still have it if keys were lost."""
        snapshot = await self.snapshot()
        for card in snapshot.cards:
            if card.name == name and card.skill is not None:
                return _bare(card.skill)
        raise NotFound(f"There is no skill {query} in the copy of the catalogue.", code="skill_not_found")

    async def _values(self, prefix: str, kind: type[ValueT]) -> AsyncIterator[ValueT]:
        unreadable = UnreadableKeys()
        async for page in iterate_pages(self.edge, prefix_range(prefix)):
            for item in page.items:
                value = read_value(item, kind, unreadable)
                if value is not None:
                    yield value
        if unreadable.number:
            log.error("Edge copy has unreadable values", number=unreadable.number, keys=unreadable.keys[:10])


def _listing(skill: Skill, rest: DetailValue) -> Listing:
    """Build a listing from the copy, which lacks summaries of versions, tags and forks."""
    unknown = dict.fromkeys((version.version for version in rest.versions), "")
    return Listing(skill, rest.versions, unknown, False, {}, rest.files, rest.scans, ())


def _bare(skill: Skill) -> Listing:
    """Build a listing whose details are lost."""
    return Listing(skill, [], {}, False, {}, [], [], ())


def _card(skill: Skill, *, whole: bool = False) -> Card:
    text = f"{skill.name} {skill.display_name} {skill.author} {skill.description[:SEARCHED]}".lower()
    is_upload = skill.repository.host is Host.UPLOAD
    return Card(skill.name, skill.updated_at, skill.id, text, skill.named_at, is_upload, skill if whole else None)


def _ordered(cards: list[Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards, key=lambda card: (card.updated_at, card.id.int), reverse=True))
