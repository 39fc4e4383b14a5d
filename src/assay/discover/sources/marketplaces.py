"""Source `marketplaces`: repositories with a plugin marketplace manifest, and the repositories that manifests name."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from assay.discover.repository_names import parse_candidates
from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.discover.sources.shards import Shard, all_shards, walk_shards
from assay.github.client import GitHub
from assay.github.search import CodeHit, search_code
from assay.model.discovery import Candidate
from assay.model.errors import AssayError, RateLimited

QUERY = "filename:marketplace.json path:.claude-plugin"
LARGEST_MANIFEST_BYTES = 5 * 1024 * 1024
CONCURRENCY = 8


class _MarketplacePlugin(msgspec.Struct):
    source: object = None


class _MarketplaceManifest(msgspec.Struct):
    plugins: list[_MarketplacePlugin] = []


@dataclass(frozen=True)
class Marketplaces:
    """Finds manifests by code search; the repositories they name may be on any accepted host."""

    github: GitHub
    cadence: Cadence
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "marketplaces"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        """Yield one page per page of search results; manifests that cannot be read are counted in `left_out`."""
        shards = [Shard.read(each) for each in (checkpoint or {}).get("shards", [])] or all_shards()
        async for read in walk_shards(self.github, QUERY, shards, budget):
            candidates, left_out = await self._read_all(read.hits)
            yield CandidatePage(candidates, read.checkpoint, not read.left, left_out, read.cut)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether the search finds any manifest."""
        budget.spend()
        return bool((await search_code(self.github, QUERY)).total)

    async def _read_all(self, hits: Sequence[CodeHit]) -> tuple[list[Candidate], int]:
        gate = asyncio.Semaphore(CONCURRENCY)

        async def read(hit: CodeHit) -> list[object]:
            async with gate:
                raw = await self.github.get_raw_file(hit.repository, "HEAD", hit.path, at_most=LARGEST_MANIFEST_BYTES)
            return list(sources_in(raw))

        answers = await asyncio.gather(*map(read, hits), return_exceptions=True)
        names: list[object] = []
        unread = 0
        for answer in answers:
            if isinstance(answer, RateLimited):
                raise answer  # the run waits and reads the page again
            if isinstance(answer, AssayError | msgspec.DecodeError | UnicodeDecodeError):
                unread += 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                names += answer
        elsewhere, left_out = parse_candidates(names, self.web_url, self.git_hosts)
        own = {hit.repository.key: Candidate(hit.repository) for hit in hits}
        return [*own.values(), *(each for each in elsewhere if each.repository.key not in own)], left_out + unread


def sources_in(manifest: bytes) -> Iterable[object]:
    """Yield the external sources of the plugins in a manifest."""
    for plugin in msgspec.json.decode(manifest, type=_MarketplaceManifest).plugins:
        match plugin.source:
            case {"source": "github", "repo": repository}:
                yield repository
            case {"source": "url" | "git-subdir", "url": url}:
                yield url
