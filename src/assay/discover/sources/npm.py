"""Packages of npm that carry a keyword of skills, and the repositories they say they are made in."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

import msgspec

from assay.discover.names import repository_named
from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.discover.web import Web
from assay.model.discovery import Candidate

PER_PAGE = 250
# Beyond so many results npm shows no more.
FURTHEST = 5_000


class _Links(msgspec.Struct):
    repository: str | None = None


class _Package(msgspec.Struct):
    name: str
    date: datetime | None = None
    links: _Links = msgspec.field(default_factory=_Links)


class _Object(msgspec.Struct):
    package: _Package


class _Answer(msgspec.Struct):
    objects: list[_Object]
    total: int


@dataclass(frozen=True)
class Npm:
    """All keywords in turn."""

    web: Web
    cadence: Cadence
    url: str
    keywords: Sequence[str]
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "npm"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of results each."""
        at, start = ((checkpoint or {}).get(key, 0) for key in ("at", "from"))
        while at < len(self.keywords):
            answer = await self._ask(self.keywords[at], start, PER_PAGE, meter)
            candidates, left_out = self._candidates(answer)
            start += len(answer.objects)
            if not answer.objects or start >= min(answer.total, FURTHEST):
                at, start = at + 1, 0
            is_last = at >= len(self.keywords)
            yield Page(candidates, None if is_last else {"at": at, "from": start}, is_last, left_out)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether any keyword has any package at all."""
        for keyword in self.keywords:
            if (await self._ask(keyword, 0, 1, meter)).objects:
                return True
        return False

    async def _ask(self, keyword: str, start: int, size: int, meter: Meter) -> _Answer:
        meter.spend()
        parameters = urlencode({"text": f"keywords:{keyword}", "size": size, "from": start})
        return await self.web.get_json(f"{self.url}/-/v1/search?{parameters}", _Answer)

    def _candidates(self, answer: _Answer) -> tuple[list[Candidate], int]:
        found: dict[tuple[str, str, str], Candidate] = {}
        left_out = 0
        for each in answer.objects:
            repository = repository_named(each.package.links.repository, self.web_url, self.git_hosts)
            if repository is None:
                left_out += 1
                continue
            candidate = Candidate(repository, each.package.date)
            known = found.get(repository.key)
            found[repository.key] = candidate if known is None else replace(known, changed_at=_later(known, candidate))
        return list(found.values()), left_out


def _later(one: Candidate, other: Candidate) -> datetime | None:
    return max((each for each in (one.changed_at, other.changed_at) if each is not None), default=None)
