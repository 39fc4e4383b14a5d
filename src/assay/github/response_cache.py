"""Answers that GitHub gave before, by address and token: asked for again, they cost nothing if nothing has changed."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec
import structlog

from assay.model.cached_response import KeptAnswer
from assay.model.errors import Unavailable

log = structlog.get_logger()
REMEMBERED_ANSWERS = 2_000
# What is new is written down so many at a time: to lose some costs a call each, nothing else.
GATHERED = 50

T = TypeVar("T", bound=msgspec.Struct)


class Shelf(Protocol):
    """Where answers are kept for all processes. Unavailable if it cannot be reached."""

    async def find(self, key: str, url: str) -> KeptAnswer | None:
        """An answer that somebody got before."""

    async def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Put them there, in place of what was there before."""


class NoShelf:
    """For a process of its own."""

    async def find(self, key: str, url: str) -> KeptAnswer | None:
        """Nothing."""
        return None

    async def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Nobody would look."""


@dataclass
class Answers:
    """Those of one process, and behind them those of all."""

    shelf: Shelf = field(default_factory=NoShelf)
    _known: OrderedDict[tuple[str, str], KeptAnswer] = field(default_factory=OrderedDict, repr=False)
    _fresh: dict[tuple[str, str], KeptAnswer] = field(default_factory=dict, repr=False)

    async def find(self, key: str, url: str, kind: type[T]) -> tuple[str, T] | None:
        """The ETag and the value of an answer; what another release wrote and this one cannot read is none."""
        known = self._known.get((key, url)) or await self._on_the_shelf(key, url)
        if known is None:
            return None
        self._put(known)
        try:
            return known.etag, msgspec.json.decode(known.body, type=kind)
        except msgspec.DecodeError:
            return None

    async def keep(self, key: str, url: str, etag: str, value: msgspec.Struct) -> None:
        """Remember an answer."""
        known = KeptAnswer(key, url, etag, msgspec.json.encode(value))
        self._put(known)
        self._fresh[key, url] = known
        if len(self._fresh) >= GATHERED:
            await self.flush()

    async def flush(self) -> None:
        """Let the other processes have what is new."""
        fresh, self._fresh = list(self._fresh.values()), {}
        try:
            if fresh:
                await self.shelf.keep(fresh)
        except Unavailable as problem:
            log.info("Answers of GitHub are not kept for the other processes", problem=problem.message)

    async def _on_the_shelf(self, key: str, url: str) -> KeptAnswer | None:
        try:
            return await self.shelf.find(key, url)
        except Unavailable:
            return None

    def _put(self, known: KeptAnswer) -> None:
        self._known[known.key, known.url] = known
        self._known.move_to_end((known.key, known.url))
        if len(self._known) > REMEMBERED_ANSWERS:
            self._known.popitem(last=False)
