"""Every file that is called SKILL.md, wherever it is."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.discover.sources.shards import Shard, all_shards, walk_shards
from assay.github.client import GitHub
from assay.github.search import CodeHit, search_code
from assay.model.discovery import Candidate
from assay.model.repository import RepositoryName

QUERY = "filename:SKILL.md"


@dataclass(frozen=True)
class CodeSearch:
    """All sizes in turn. Known repositories are asked for by name, to see whether the question still works."""

    github: GitHub
    cadence: Cadence
    known: Sequence[RepositoryName] = ()
    query: str = QUERY
    name: str = "code-search"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of results each."""
        shards = [Shard.read(each) for each in (checkpoint or {}).get("shards", [])] or all_shards()
        async for read in walk_shards(self.github, self.query, shards, meter):
            yield Page(candidates_of(read.hits), read.checkpoint, not read.left, cut=read.cut)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether at least one of a few known repositories is found by the same question."""
        asked = self.known[:3]
        for each in asked:
            meter.spend()
            if (await search_code(self.github, f"{self.query} repo:{each}")).total:
                return True
        return False if asked else None


def candidates_of(hits: Sequence[CodeHit]) -> list[Candidate]:
    """One for each repository, with the paths that were found in it."""
    paths: dict[RepositoryName, list[str]] = defaultdict(list)
    for hit in hits:
        paths[hit.repository].append(hit.path)
    return [Candidate(repository, paths=tuple(found)) for repository, found in paths.items()]
