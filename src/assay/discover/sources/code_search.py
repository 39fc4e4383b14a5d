"""Source `code-search`: all files named SKILL.md in GitHub's code search."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.discover.sources.shards import Shard, all_shards, walk_shards
from assay.github.client import GitHub
from assay.github.search import CodeHit, search_code
from assay.model.discovery import Candidate
from assay.model.repository import RepositoryName

QUERY = "filename:SKILL.md"


@dataclass(frozen=True)
class CodeSearch:
    """Searches in shards by file size; the probe searches known repositories with the same query."""

    github: GitHub
    cadence: Cadence
    known: Sequence[RepositoryName] = ()
    query: str = QUERY
    name: str = "code-search"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        shards = [Shard.read(each) for each in (checkpoint or {}).get("shards", [])] or all_shards()
        async for read in walk_shards(self.github, self.query, shards, budget):
            yield CandidatePage(candidates_of(read.hits), read.checkpoint, not read.left, cut=read.cut)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether the query finds at least one of three known repositories."""
        known = self.known[:3]
        for each in known:
            budget.spend()
            if (await search_code(self.github, f"{self.query} repo:{each}")).total:
                return True
        return False if known else None


def candidates_of(hits: Sequence[CodeHit]) -> list[Candidate]:
    """Return one candidate per repository, with the paths found in it."""
    paths: dict[RepositoryName, list[str]] = defaultdict(list)
    for hit in hits:
        paths[hit.repository].append(hit.path)
    return [Candidate(repository, paths=tuple(found)) for repository, found in paths.items()]
