"""Code search beyond its thousand results: the question is split by the size of files until each part fits."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import structlog

from assay.discover.source import Meter
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, RESULT_CAP, CodeHit, CodeResults, search_code

log = structlog.get_logger()
# Most instructions are a few kilobytes long, so the first parts are small there. The last one is open.
EDGES = (0, 512, 1_024, 1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 32_768, 65_536)
LARGEST = 384 * 1_024
ASKED_AGAIN = 2


@dataclass(frozen=True)
class ShardPage:
    """Some files, what is still to be read after them, and how many nobody is shown."""

    hits: Sequence[CodeHit]
    left: Sequence["Shard"]
    cut: int

    @property
    def checkpoint(self) -> dict[str, object] | None:
        """Where to go on; nowhere if this was the last."""
        return {"shards": [each.written for each in self.left]} if self.left else None


@dataclass(frozen=True)
class Shard:
    """Files of so many bytes, from a page on. What one size alone has too much of is read from both ends."""

    low: int
    high: int | None
    page: int = 1
    newest_first: bool = True

    @classmethod
    def read(cls, written: Sequence[Any]) -> Self:
        """As it was written down."""
        low, high, page, newest_first = written
        return cls(low, high, page, newest_first)

    @property
    def written(self) -> list[object]:
        """For a checkpoint."""
        return [self.low, self.high, self.page, self.newest_first]

    @property
    def qualifier(self) -> str:
        """In GitHub's words."""
        return f"size:{self.low}..{self.high}" if self.high is not None else f"size:>={self.low}"

    @property
    def is_divisible(self) -> bool:
        """Whether it has more than one size."""
        return self.high is None or self.high > self.low

    def divided(self) -> list[Self]:
        """Two parts that hold together what this one holds."""
        middle = (self.low + (self.high if self.high is not None else max(LARGEST, 2 * self.low))) // 2
        return [replace(self, high=middle, page=1), replace(self, low=middle + 1, page=1)]

    def out_of_reach(self, total: int) -> int:
        """Files of one size between those that both ends show; said once, with the first page of the second end."""
        return max(0, total - 2 * RESULT_CAP) if self.page == 1 and not self.newest_first else 0

    def after(self, total: int) -> list[Self]:
        """What is left of it when its page was read."""
        if self.page * PER_PAGE < min(total, RESULT_CAP):
            return [replace(self, page=self.page + 1)]
        return [replace(self, page=1, newest_first=False)] if total > RESULT_CAP and self.newest_first else []


def all_shards() -> list[Shard]:
    """Every size there is."""
    ends = [edge - 1 for edge in EDGES[1:]]
    return [Shard(low, high) for low, high in zip(EDGES, [*ends, None], strict=True)]


async def walk_shards(github: GitHub, query: str, shards: Sequence[Shard], meter: Meter) -> AsyncIterator[ShardPage]:
    """Page by page."""
    left = list(shards)
    while left:
        shard = left.pop(0)
        results = await _ask(github, query, shard, meter)
        if shard.page == 1 and (results.total > RESULT_CAP or results.is_incomplete) and shard.is_divisible:
            left[:0] = shard.divided()
            continue
        cut = results.missing(shard.page, len(results.hits)) + shard.out_of_reach(results.total)
        if cut:
            log.warning("Code search has more than it shows", query=query, shard=shard.qualifier, not_shown=cut)
        left[:0] = shard.after(results.total)
        yield ShardPage(results.hits, left, cut)


async def _ask(github: GitHub, query: str, shard: Shard, meter: Meter) -> CodeResults:
    """Once more if GitHub ran out of time; what it has found by then is better than nothing."""
    for _ in range(ASKED_AGAIN):
        meter.spend()
        results = await search_code(
            github, f"{query} {shard.qualifier}", page=shard.page, newest_first=shard.newest_first
        )
        if not results.is_incomplete:
            break
    return results
