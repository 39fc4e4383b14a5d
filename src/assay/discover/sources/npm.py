"""Source `npm`: the repositories of npm packages with certain keywords."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

import msgspec

from assay.discover.repository_names import parse_repository
from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.discover.web import Web
from assay.model.discovery import Candidate

PER_PAGE = 250
# npm returns no results beyond this offset.
MAX_OFFSET = 5_000


class _NpmLinks(msgspec.Struct):
    repository: str | None = None


class _NpmPackage(msgspec.Struct):
    name: str
    date: datetime | None = None
    links: _NpmLinks = msgspec.field(default_factory=_NpmLinks)


class _NpmResult(msgspec.Struct):
    package: _NpmPackage


class _NpmSearchResponse(msgspec.Struct):
    objects: list[_NpmResult]
    total: int


@dataclass(frozen=True)
class Npm:
    """Searches for one keyword after another."""

    web: Web
    cadence: Cadence
    url: str
    keywords: Sequence[str]
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "npm"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        at, start = ((checkpoint or {}).get(key, 0) for key in ("at", "from"))
        while at < len(self.keywords):
            answer = await self._search(self.keywords[at], start, PER_PAGE, budget)
            candidates, left_out = self._candidates(answer)
            start += len(answer.objects)
            if not answer.objects or start >= min(answer.total, MAX_OFFSET):
                at, start = at + 1, 0
            is_last = at >= len(self.keywords)
            yield CandidatePage(candidates, None if is_last else {"at": at, "from": start}, is_last, left_out)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether any keyword finds a package."""
        for keyword in self.keywords:
            if (await self._search(keyword, 0, 1, budget)).objects:
                return True
        return False

    async def _search(self, keyword: str, start: int, size: int, budget: RunCallBudget) -> _NpmSearchResponse:
        budget.spend()
        parameters = urlencode({"text": f"keywords:{keyword}", "size": size, "from": start})
        return await self.web.get_json(f"{self.url}/-/v1/search?{parameters}", _NpmSearchResponse)

    def _candidates(self, answer: _NpmSearchResponse) -> tuple[list[Candidate], int]:
        found: dict[tuple[str, str, str], Candidate] = {}
        left_out = 0
        for each in answer.objects:
            repository = parse_repository(each.package.links.repository, self.web_url, self.git_hosts)
            if repository is None:
                left_out += 1
                continue
            candidate = Candidate(repository, each.package.date)
            known = found.get(repository.key)
            found[repository.key] = candidate if known is None else replace(known, changed_at=_later(known, candidate))
        return list(found.values()), left_out


def _later(one: Candidate, other: Candidate) -> datetime | None:
    return max((each for each in (one.changed_at, other.changed_at) if each is not None), default=None)
