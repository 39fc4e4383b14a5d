"""Source `registries`: the repositories that the indexes of other registries name."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from assay.discover.repository_names import parse_candidates, parse_repository
from assay.discover.source import Cadence, CandidatePage, Checkpoint, PartUnavailable, RunCallBudget
from assay.discover.web import Web
from assay.model.discovery import Candidate, RegistryKind
from assay.model.errors import AssayError, NotFound

WELL_KNOWN = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
# Fields of an index entry that may name the repository.
REPOSITORY_FIELDS = ("repository", "repo", "source", "homepage", "url")
PER_PAGE = 100


@dataclass(frozen=True)
class ExternalRegistry:
    """The URL of another registry and the protocol of its index."""

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
    """Reads one registry after another; one that is unavailable does not affect the others.

    `after` in the checkpoint is the registry's own cursor or page number.
    """

    web: Web
    cadence: Cadence
    registries: Sequence[ExternalRegistry]
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "registries"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        at, after = (checkpoint or {}).get("at", 0), (checkpoint or {}).get("after")
        while at < len(self.registries):
            try:
                entries, after = await self._read(self.registries[at], after, budget)
            except AssayError as error:
                raise PartUnavailable(error, self._page([], at + 1, None)) from error
            names = [self._repository_in(each) for each in entries]
            candidates, left_out = parse_candidates(names, self.web_url, self.git_hosts)
            at = at if after is not None else at + 1
            yield self._page(candidates, at, after, left_out)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether the first page of any registry has entries."""
        for registry in self.registries:
            try:
                entries, _ = await self._read(registry, None, budget)
            except AssayError:
                continue  # the run has reported it
            if entries:
                return True
        return False

    def _page(
        self, candidates: Sequence[Candidate], at: int, after: int | str | None, left_out: int = 0
    ) -> CandidatePage:
        is_last = at >= len(self.registries)
        return CandidatePage(candidates, None if is_last else {"at": at, "after": after}, is_last, left_out)

    async def _read(
        self, registry: ExternalRegistry, after: Any, budget: RunCallBudget
    ) -> tuple[list[dict[str, Any]], int | str | None]:
        budget.spend()
        match registry.kind:
            case RegistryKind.WELL_KNOWN:
                return await self._read_index(registry.url, budget), None
            case RegistryKind.SKILLS_SH:
                # Pages are numbered from zero.
                number = int(after or 0)
                page = await self.web.get_json(f"{registry.url}/api/skills/all-time/{number}", _NumberedPage)
                return page.skills, number + 1 if page.has_more and page.skills else None
            case RegistryKind.ASSAY:
                parameters = {"limit": PER_PAGE, **({"cursor": after} if after else {})}
                listed = await self.web.get_json(f"{registry.url}/api/v1/skills?{urlencode(parameters)}", _CursorPage)
                return listed.skills, listed.next_cursor

    async def _read_index(self, url: str, budget: RunCallBudget) -> list[dict[str, Any]]:
        first, second = WELL_KNOWN
        try:
            return (await self.web.get_json(url + first, _Entries)).skills
        except NotFound:
            budget.spend()
            return (await self.web.get_json(url + second, _Entries)).skills

    def _repository_in(self, entry: dict[str, Any]) -> object:
        """Return the first field that names a repository; None for an entry that only offers a download."""
        values = [entry.get("repoUrl"), *(entry.get(field) for field in REPOSITORY_FIELDS)]
        texts = [each.get("url") or each.get("repo") if isinstance(each, dict) else each for each in values]
        return next((text for text in texts if parse_repository(text, self.web_url, self.git_hosts)), None)
