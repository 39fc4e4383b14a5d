"""Other registries: what their indexes say about where skills come from, page by page as each of them counts."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from assay.discover.names import candidates_named, repository_named
from assay.discover.source import Cadence, Checkpoint, Meter, Page, Unread
from assay.discover.web import Web
from assay.model.discovery import Candidate, RegistryKind
from assay.model.errors import AssayError, NotFound

WELL_KNOWN = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
# Where an entry of an index may say in which repository the skill is made.
PLACES = ("repository", "repo", "source", "homepage", "url")
PER_PAGE = 100


@dataclass(frozen=True)
class Registry:
    """A registry, and how to read it."""

    kind: RegistryKind
    url: str


class _Entries(msgspec.Struct):
    skills: list[dict[str, Any]] = []


class _NumberedPage(msgspec.Struct, rename="camel"):
    skills: list[dict[str, Any]] = []
    has_more: bool = False


class _CursorPage(msgspec.Struct, rename="camel"):
    skills: list[dict[str, Any]] = []
    next_cursor: str | None = None


@dataclass(frozen=True)
class Registries:
    """One registry after the other; one that is gone does not hide the others.

    `after` in the checkpoint is what the registry itself calls the next page.
    """

    web: Web
    cadence: Cadence
    registries: Sequence[Registry]
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "registries"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """One page of an index each."""
        at, after = (checkpoint or {}).get("at", 0), (checkpoint or {}).get("after")
        while at < len(self.registries):
            try:
                entries, after = await self._read(self.registries[at], after, meter)
            except AssayError as problem:
                raise Unread(problem, self._page([], at + 1, None)) from problem
            places = [self._place_in(each) for each in entries]
            candidates, left_out = candidates_named(places, self.web_url, self.git_hosts)
            at = at if after is not None else at + 1
            yield self._page(candidates, at, after, left_out)

    async def probe(self, meter: Meter) -> bool | None:
        """Whether any of them lists anything at all on its first page."""
        for registry in self.registries:
            try:
                entries, _ = await self._read(registry, None, meter)
            except AssayError:
                continue  # the run has said so
            if entries:
                return True
        return False

    def _page(self, candidates: Sequence[Candidate], at: int, after: int | str | None, left_out: int = 0) -> Page:
        is_last = at >= len(self.registries)
        return Page(candidates, None if is_last else {"at": at, "after": after}, is_last, left_out)

    async def _read(
        self, registry: Registry, after: Any, meter: Meter
    ) -> tuple[list[dict[str, Any]], int | str | None]:
        meter.spend()
        match registry.kind:
            case RegistryKind.WELL_KNOWN:
                return await self._read_index(registry.url, meter), None
            case RegistryKind.SKILLS_SH:
                # The first page is number zero.
                number = int(after or 0)
                page = await self.web.get_json(f"{registry.url}/api/skills/all-time/{number}", _NumberedPage)
                return page.skills, number + 1 if page.has_more and page.skills else None
            case RegistryKind.ASSAY:
                parameters = {"limit": PER_PAGE, **({"cursor": after} if after else {})}
                listed = await self.web.get_json(f"{registry.url}/api/v1/skills?{urlencode(parameters)}", _CursorPage)
                return listed.skills, listed.next_cursor

    async def _read_index(self, url: str, meter: Meter) -> list[dict[str, Any]]:
        first, second = WELL_KNOWN
        try:
            return (await self.web.get_json(url + first, _Entries)).skills
        except NotFound:
            meter.spend()
            return (await self.web.get_json(url + second, _Entries)).skills

    def _place_in(self, entry: dict[str, Any]) -> object:
        """The first of the places that names a repository; what an index only offers as a download names none."""
        given = [entry.get("repoUrl"), *(entry.get(place) for place in PLACES)]
        texts = [each.get("url") or each.get("repo") if isinstance(each, dict) else each for each in given]
        return next((text for text in texts if repository_named(text, self.web_url, self.git_hosts)), None)
