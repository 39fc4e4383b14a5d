"""Marketplaces of plugins: the repositories that have a manifest, and the repositories that manifests name."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from assay.discover.names import candidates_named
from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.discover.sources.shards import Shard, all_shards, walk_shards
from assay.github.client import GitHub
from assay.github.search import CodeHit, search_code
from assay.model.discovery import Candidate
from assay.model.errors import AssayError, RateLimited

QUERY = "filename:marketplace.json path:.claude-plugin"
LARGEST_MANIFEST_BYTES = 5 * 1024 * 1024
AT_ONCE = 8


class _Plugin(msgspec.Struct):
    source: object = None


class _Manifest(msgspec.Struct):
    plugins: list[_Plugin] = []


@dataclass(frozen=True)
class Marketplaces:
    """Manifests are found by code search; what they name may be anywhere."""

    github: GitHub
    cadence: Cadence
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "marketplaces"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of manifests each, read as far as they can be."""
        shards = [Shard.read(each) for each in (checkpoint or {}).get("shards", [])] or all_shards()
        async for read in walk_shards(self.github, QUERY, shards, meter):
            candidates, left_out = await self._read_all(read.hits)
            yield Page(candidates, read.checkpoint, not read.left, left_out, read.cut)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether there is any manifest at all."""
        meter.spend()
        return bool((await search_code(self.github, QUERY)).total)

    async def _read_all(self, hits: Sequence[CodeHit]) -> tuple[list[Candidate], int]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def read(hit: CodeHit) -> list[object]:
            async with gate:
                raw = await self.github.get_raw_file(hit.repository, "HEAD", hit.path, at_most=LARGEST_MANIFEST_BYTES)
            return list(named_in(raw))

        answers = await asyncio.gather(*map(read, hits), return_exceptions=True)
        names: list[object] = []
        unread = 0
        for answer in answers:
            if isinstance(answer, RateLimited):
                raise answer  # the page is read again when the time has come
            if isinstance(answer, AssayError | msgspec.DecodeError | UnicodeDecodeError):
                unread += 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                names += answer
        elsewhere, left_out = candidates_named(names, self.web_url, self.git_hosts)
        own = {hit.repository.key: Candidate(hit.repository) for hit in hits}
        return [*own.values(), *(each for each in elsewhere if each.repository.key not in own)], left_out + unread


def named_in(manifest: bytes) -> Iterable[object]:
    """What the plugins of a manifest name as their source, if it is not a folder beside the manifest."""
    for plugin in msgspec.json.decode(manifest, type=_Manifest).plugins:
        match plugin.source:
            case {"source": "github", "repo": repository}:
                yield repository
            case {"source": "url" | "git-subdir", "url": url}:
                yield url
