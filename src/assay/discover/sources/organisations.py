"""Source `organisations`: all public repositories of configured organisations and people."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import structlog

from assay.discover.source import Cadence, CandidatePage, Checkpoint, PartUnavailable, RunCallBudget
from assay.discover.sources.topics import as_candidate
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, FoundRepository, list_repositories
from assay.model.errors import NotFound, Refused

log = structlog.get_logger()


@dataclass(frozen=True)
class Organisations:
    """Lists one owner after another; one that is missing or refuses access does not affect the others."""

    github: GitHub
    cadence: Cadence
    owners: Sequence[str]
    name: str = "organisations"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        at, page = ((checkpoint or {}).get(key, start) for key, start in (("at", 0), ("page", 1)))
        while at < len(self.owners):
            budget.spend()
            left_out = 0
            try:
                listed = await list_repositories(self.github, self.owners[at], page=page)
            except NotFound:
                log.warning("Configured owner does not exist on GitHub", owner=self.owners[at])
                listed, left_out = [], 1
            except Refused as error:
                raise PartUnavailable(error, self._page([], at + 1, 1)) from error
            at, page = (at, page + 1) if len(listed) == PER_PAGE else (at + 1, 1)
            yield self._page(listed, at, page, left_out)

    def _page(self, listed: Sequence[FoundRepository], at: int, page: int, left_out: int = 0) -> CandidatePage:
        is_last = at >= len(self.owners)
        after = None if is_last else {"at": at, "page": page}
        return CandidatePage([as_candidate(each) for each in listed], after, is_last, left_out)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        return None
