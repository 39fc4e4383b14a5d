"""All public repositories of organisations, and of people, that the operator names."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import structlog

from assay.discover.source import Cadence, Checkpoint, Meter, Page, Unread
from assay.discover.sources.topics import as_candidate
from assay.github.client import GitHub
from assay.github.search import PER_PAGE, FoundRepository, list_repositories
from assay.model.errors import NotFound, Refused

log = structlog.get_logger()


@dataclass(frozen=True)
class Organisations:
    """One after the other; one that is gone, or shows us nothing, does not stop the others."""

    github: GitHub
    cadence: Cadence
    owners: Sequence[str]
    name: str = "organisations"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of a list each."""
        at, page = ((checkpoint or {}).get(key, start) for key, start in (("at", 0), ("page", 1)))
        while at < len(self.owners):
            meter.spend()
            left_out = 0
            try:
                listed = await list_repositories(self.github, self.owners[at], page=page)
            except NotFound:
                log.warning("There is no such organisation or person", owner=self.owners[at])
                listed, left_out = [], 1
            except Refused as problem:
                raise Unread(problem, self._page([], at + 1, 1)) from problem
            at, page = (at, page + 1) if len(listed) == PER_PAGE else (at + 1, 1)
            yield self._page(listed, at, page, left_out)

    def _page(self, listed: Sequence[FoundRepository], at: int, page: int, left_out: int = 0) -> Page:
        is_last = at >= len(self.owners)
        after = None if is_last else {"at": at, "page": page}
        return Page([as_candidate(each) for each in listed], after, is_last, left_out)

    async def probe(self, meter: Meter) -> bool | None:
        """Who is not there has nothing to be asked about."""
        return None
