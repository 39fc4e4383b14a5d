"""Cached responses of GitHub by URL and token: a conditional request for an unchanged response costs no call."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec
import structlog

from assay.model.errors import Unavailable
from assay.model.github import CachedResponse

log = structlog.get_logger()
MAX_RESPONSES = 2_000
# New responses are written in batches of this size; losing some costs one call each.
WRITE_BATCH = 50

T = TypeVar("T", bound=msgspec.Struct)


class SharedResponseStore(Protocol):
    """Responses of all processes. Methods raise Unavailable if it cannot be reached."""

    async def find(self, key: str, url: str) -> CachedResponse | None: ...

    async def keep(self, answers: Sequence[CachedResponse]) -> None:
        """Store responses, replacing earlier ones of the same key and URL."""


class UnsharedResponseStore:
    """For a process that shares its cache with no other."""

    async def find(self, key: str, url: str) -> CachedResponse | None:
        return None

    async def keep(self, answers: Sequence[CachedResponse]) -> None:
        pass


@dataclass
class ResponseCache:
    """A least-recently-used cache of one process in front of the shared store."""

    store: SharedResponseStore = field(default_factory=UnsharedResponseStore)
    _cached: OrderedDict[tuple[str, str], CachedResponse] = field(default_factory=OrderedDict, repr=False)
    _unwritten: dict[tuple[str, str], CachedResponse] = field(default_factory=dict, repr=False)

    async def find(self, key: str, url: str, kind: type[T]) -> tuple[str, T] | None:
        """Return the ETag and value of a response; None also if another release wrote it and it cannot be decoded."""
        cached = self._cached.get((key, url)) or await self._find_shared(key, url)
        if cached is None:
            return None
        self._put(cached)
        try:
            return cached.etag, msgspec.json.decode(cached.body, type=kind)
        except msgspec.DecodeError:
            return None

    async def add(self, key: str, url: str, etag: str, value: msgspec.Struct) -> None:
        cached = CachedResponse(key, url, etag, msgspec.json.encode(value))
        self._put(cached)
        self._unwritten[key, url] = cached
        if len(self._unwritten) >= WRITE_BATCH:
            await self.flush()

    async def flush(self) -> None:
        """Write new responses to the shared store; failures are logged and ignored."""
        unwritten, self._unwritten = list(self._unwritten.values()), {}
        try:
            if unwritten:
                await self.store.keep(unwritten)
        except Unavailable as error:
            log.info("Failed to share cached GitHub responses", error=error.message)

    async def _find_shared(self, key: str, url: str) -> CachedResponse | None:
        try:
            return await self.store.find(key, url)
        except Unavailable:
            return None

    def _put(self, cached: CachedResponse) -> None:
        self._cached[cached.key, cached.url] = cached
        self._cached.move_to_end((cached.key, cached.url))
        if len(self._cached) > MAX_RESPONSES:
            self._cached.popitem(last=False)
