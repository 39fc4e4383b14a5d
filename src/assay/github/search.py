"""What GitHub lists and finds: code, repositories, those of an owner, and public events."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec

from assay.github.client import GitHub
from assay.model.errors import NotFound
from assay.model.repository import Host, RepositoryName

PER_PAGE = 100
# GitHub shows no more than so many results of one question, whatever their number is.
RESULT_CAP = 1_000
EVENT_PAGES = 3


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A file that code search has found."""

    repository: RepositoryName
    path: str


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """A repository that a list or a search shows, and when it was last pushed to."""

    repository: RepositoryName
    pushed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Results:
    """How many there are, whether GitHub ran out of time, and this page of them."""

    total: int
    is_incomplete: bool

    def missing(self, page: int, shown: int) -> int:
        """How many of its results a page lacks, because GitHub did not come to them in time."""
        wanted = min(PER_PAGE, min(self.total, RESULT_CAP) - (page - 1) * PER_PAGE)
        return max(0, wanted - shown) if self.is_incomplete else 0


@dataclass(frozen=True, slots=True)
class CodeResults(Results):
    """A page of files."""

    hits: Sequence[CodeHit]


@dataclass(frozen=True, slots=True)
class RepositoryResults(Results):
    """A page of repositories."""

    hits: Sequence[FoundRepository]


@dataclass(frozen=True, slots=True)
class PublicEvent:
    """Something that happened to a repository."""

    id: str
    kind: str
    repository: RepositoryName
    happened_at: datetime


class _Named(msgspec.Struct):
    full_name: str


class _File(msgspec.Struct):
    path: str
    repository: _Named


class _CodeAnswer(msgspec.Struct):
    total_count: int
    incomplete_results: bool
    items: list[_File]


class _Repository(msgspec.Struct):
    full_name: str
    pushed_at: datetime | None = None


class _RepositoryAnswer(msgspec.Struct):
    total_count: int
    incomplete_results: bool
    items: list[_Repository]


class _EventRepository(msgspec.Struct):
    name: str


class _Event(msgspec.Struct):
    id: str
    type: str
    repo: _EventRepository
    created_at: datetime


async def search_code(github: GitHub, query: str, *, page: int = 1, newest_first: bool = True) -> CodeResults:
    """A page of the files that fit, by when GitHub came to know them."""
    order = {"sort": "indexed", "order": "desc" if newest_first else "asc"}
    url = _url(github, "search/code", {"q": query, "per_page": PER_PAGE, "page": page, **order})
    answer = await github.get(url, _CodeAnswer, remember=False)
    hits = [CodeHit(_name(each.repository.full_name), each.path) for each in answer.items]
    return CodeResults(answer.total_count, answer.incomplete_results, hits)


async def search_repositories(github: GitHub, query: str, *, page: int = 1) -> RepositoryResults:
    """A page of the repositories that fit, the last updated first."""
    parameters = {"q": query, "per_page": PER_PAGE, "page": page, "sort": "updated", "order": "desc"}
    answer = await github.get(_url(github, "search/repositories", parameters), _RepositoryAnswer, remember=False)
    return RepositoryResults(answer.total_count, answer.incomplete_results, [_found(each) for each in answer.items])


async def list_repositories(github: GitHub, owner: str, *, page: int = 1) -> list[FoundRepository]:
    """A page of the public repositories of an organisation or of a person, the last pushed first."""
    parameters = {"per_page": PER_PAGE, "page": page, "sort": "pushed", "type": "public"}
    try:
        listed = await _get_list(github, _url(github, f"orgs/{quote(owner)}/repos", parameters), list[_Repository])
    except NotFound:
        own = parameters | {"type": "owner"}
        listed = await _get_list(github, _url(github, f"users/{quote(owner)}/repos", own), list[_Repository])
    return [_found(each) for each in listed]


async def poll_events(github: GitHub, place: str, *, page: int = 1) -> tuple[list[PublicEvent], float]:
    """A page of what happened lately, and the seconds before the next look. It costs no call if nothing is new."""
    kind: Any = list[_Event]
    listed, pause = await github.poll(_url(github, place, {"per_page": PER_PAGE, "page": page}), kind)
    return [PublicEvent(each.id, each.type, _name(each.repo.name), each.created_at) for each in listed], pause


def organisation_events(login: str) -> str:
    """Where the events of an organisation are; NotFound if it is a person."""
    return f"orgs/{quote(login)}/events"


def person_events(login: str) -> str:
    """Where it is told what a person does, at whose repository ever."""
    return f"users/{quote(login)}/events/public"


def _url(github: GitHub, place: str, parameters: dict[str, Any]) -> str:
    return f"{github.urls.api}/{place}?{urlencode(parameters)}"


async def _get_list(github: GitHub, url: str, kind: Any) -> list[Any]:
    # The client reads any type that msgspec does; a list of structs is one, too.
    return cast(list[Any], await github.get(url, kind))


def _found(repository: _Repository) -> FoundRepository:
    return FoundRepository(_name(repository.full_name), repository.pushed_at)


def _name(full_name: str) -> RepositoryName:
    owner, _, name = full_name.partition("/")
    return RepositoryName(Host.GITHUB, owner, name)
