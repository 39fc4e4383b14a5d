"""Code search beyond GitHub's limit of 1,000 results: the query is split by file size until each shard fits."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import structlog

from assay.discover.source import RunCallBudget
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, RESULT_CAP, CodeHit, CodeResults, search_code

log = structlog.get_logger()
# Most files are a few kilobytes long, so the initial shards are narrow there. The last one is open-ended.
EDGES = (0, 512, 1_024, 1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 32_768, 65_536)
LARGEST = 384 * 1_024
MAX_ATTEMPTS = 2


@dataclass(frozen=True)
class ShardPage:
    """A page of files, the shards left to read, and the number of files that GitHub does not return."""

    hits: Sequence[CodeHit]
    left: Sequence["Shard"]
    cut: int

    @property
    def checkpoint(self) -> dict[str, object] | None:
        """The checkpoint to continue from; None after the last page."""
        return {"shards": [each.written for each in self.left]} if self.left else None


@dataclass(frozen=True)
class Shard:
    """A range of file sizes in bytes, and the next page.

    A single size with more than 1,000 results is read from both ends of the order.
    """

    low: int
    high: int | None
    page: int = 1
    newest_first: bool = True

    @classmethod
    def read(cls, written: Sequence[Any]) -> Self:
        low, high, page, newest_first = written
        return cls(low, high, page, newest_first)

    @property
    def written(self) -> list[object]:
        """The form stored in a checkpoint."""
        return [self.low, self.high, self.page, self.newest_first]

    @property
    def qualifier(self) -> str:
        return f"size:{self.low}..{self.high}" if self.high is not None else f"size:>={self.low}"

    @property
    def is_divisible(self) -> bool:
        """True if the range covers more than one size."""
        return self.high is None or self.high > self.low

    def divided(self) -> list[Self]:
        """Return two shards that together cover the same sizes."""
        middle = (self.low + (self.high if self.high is not None else max(LARGEST, 2 * self.low))) // 2
        return [replace(self, high=middle, page=1), replace(self, low=middle + 1, page=1)]

    def out_of_reach(self, total: int) -> int:
        """Return how many files neither end of the order reaches; counted once, on the first page of the second end."""
        return max(0, total - 2 * RESULT_CAP) if self.page == 1 and not self.newest_first else 0

    def after(self, total: int) -> list[Self]:
        """Return the shards left after the current page."""
        if self.page * PER_PAGE < min(total, RESULT_CAP):
            return [replace(self, page=self.page + 1)]
        return [replace(self, page=1, newest_first=False)] if total > RESULT_CAP and self.newest_first else []


def all_shards() -> list[Shard]:
    """Return shards that cover every size."""
    ends = [edge - 1 for edge in EDGES[1:]]
    return [Shard(low, high) for low, high in zip(EDGES, [*ends, None], strict=True)]


async def walk_shards(
    github: GitHub, query: str, shards: Sequence[Shard], budget: RunCallBudget
) -> AsyncIterator[ShardPage]:
    """Yield pages, dividing shards that have too many results."""
    left = list(shards)
    while left:
        shard = left.pop(0)
        results = await _search(github, query, shard, budget)
        if shard.page == 1 and (results.total > RESULT_CAP or results.is_incomplete) and shard.is_divisible:
            left[:0] = shard.divided()
            continue
        cut = results.missing(shard.page, len(results.hits)) + shard.out_of_reach(results.total)
        if cut:
            log.warning("Code search returned incomplete results", query=query, shard=shard.qualifier, not_shown=cut)
        left[:0] = shard.after(results.total)
        yield ShardPage(results.hits, left, cut)


async def _search(github: GitHub, query: str, shard: Shard, budget: RunCallBudget) -> CodeResults:
    """Search, and retry if GitHub timed out; the last incomplete result is used."""
    for _ in range(MAX_ATTEMPTS):
        budget.spend()
        results = await search_code(
            github, f"{query} {shard.qualifier}", page=shard.page, newest_first=shard.newest_first
        )
        if not results.is_incomplete:
            break
    return results
