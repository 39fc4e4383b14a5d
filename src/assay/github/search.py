"""GitHub's search and lists: code, repositories, repositories of an owner, and public events."""

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
# GitHub returns at most this many results of one query, whatever the total is.
RESULT_CAP = 1_000
EVENT_PAGES = 3


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A file found by code search."""

    repository: RepositoryName
    path: str


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """A repository in a list or search result, with the time of its last push."""

    repository: RepositoryName
    pushed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Results:
    """The total of a search, whether GitHub's time limit cut it short, and one page of hits."""

    total: int
    is_incomplete: bool

    def missing(self, page: int, returned: int) -> int:
        """Return how many hits a page lacks because the search timed out."""
        expected = min(PER_PAGE, min(self.total, RESULT_CAP) - (page - 1) * PER_PAGE)
        return max(0, expected - returned) if self.is_incomplete else 0


@dataclass(frozen=True, slots=True)
class CodeResults(Results):
    hits: Sequence[CodeHit]


@dataclass(frozen=True, slots=True)
class RepositoryResults(Results):
    hits: Sequence[FoundRepository]


@dataclass(frozen=True, slots=True)
class PublicEvent:
    """A public event of a repository."""

    id: str
    kind: str
    repository: RepositoryName
    happened_at: datetime


class _CodeRepository(msgspec.Struct):
    full_name: str


class _CodeItem(msgspec.Struct):
    path: str
    repository: _CodeRepository


class _CodeSearchResponse(msgspec.Struct):
    total_count: int
    incomplete_results: bool
    items: list[_CodeItem]


class _RepositoryItem(msgspec.Struct):
    full_name: str
    pushed_at: datetime | None = None


class _RepositorySearchResponse(msgspec.Struct):
    total_count: int
    incomplete_results: bool
    items: list[_RepositoryItem]


class _EventRepository(msgspec.Struct):
    name: str


class _EventItem(msgspec.Struct):
    id: str
    type: str
    repo: _EventRepository
    created_at: datetime


async def search_code(github: GitHub, query: str, *, page: int = 1, newest_first: bool = True) -> CodeResults:
    """Return a page of matching files, ordered by the time GitHub indexed them."""
    order = {"sort": "indexed", "order": "desc" if newest_first else "asc"}
    url = _url(github, "search/code", {"q": query, "per_page": PER_PAGE, "page": page, **order})
    response = await github.get(url, _CodeSearchResponse, cached=False)
    hits = [CodeHit(_name(each.repository.full_name), each.path) for each in response.items]
    return CodeResults(response.total_count, response.incomplete_results, hits)


async def search_repositories(github: GitHub, query: str, *, page: int = 1) -> RepositoryResults:
    """Return a page of matching repositories, most recently updated first."""
    parameters = {"q": query, "per_page": PER_PAGE, "page": page, "sort": "updated", "order": "desc"}
    url = _url(github, "search/repositories", parameters)
    response = await github.get(url, _RepositorySearchResponse, cached=False)
    hits = [_found(each) for each in response.items]
    return RepositoryResults(response.total_count, response.incomplete_results, hits)


async def list_repositories(github: GitHub, owner: str, *, page: int = 1) -> list[FoundRepository]:
    """Return a page of the public repositories of an organisation or a person, most recently pushed first."""
    parameters = {"per_page": PER_PAGE, "page": page, "sort": "pushed", "type": "public"}
    try:
        listed = await _get_list(github, _url(github, f"orgs/{quote(owner)}/repos", parameters), list[_RepositoryItem])
    except NotFound:
        own = parameters | {"type": "owner"}
        listed = await _get_list(github, _url(github, f"users/{quote(owner)}/repos", own), list[_RepositoryItem])
    return [_found(each) for each in listed]


async def poll_events(github: GitHub, path: str, *, page: int = 1) -> tuple[list[PublicEvent], float]:
    """Return a page of recent events and the seconds before the next poll; costs no call if nothing is new."""
    kind: Any = list[_EventItem]
    listed, pause = await github.poll(_url(github, path, {"per_page": PER_PAGE, "page": page}), kind)
    return [PublicEvent(each.id, each.type, _name(each.repo.name), each.created_at) for each in listed], pause


def organisation_events(login: str) -> str:
    """Return the path of an organisation's events; requesting it raises NotFound if the login is a person's."""
    return f"orgs/{quote(login)}/events"


def person_events(login: str) -> str:
    """Return the path of a person's public events, which may be in other owners' repositories."""
    return f"users/{quote(login)}/events/public"


def _url(github: GitHub, path: str, parameters: dict[str, Any]) -> str:
    return f"{github.urls.api}/{path}?{urlencode(parameters)}"


async def _get_list(github: GitHub, url: str, kind: Any) -> list[Any]:
    # `get` accepts any type that msgspec can decode; its type variable is narrower.
    return cast(list[Any], await github.get(url, kind))


def _found(repository: _RepositoryItem) -> FoundRepository:
    return FoundRepository(_name(repository.full_name), repository.pushed_at)


def _name(full_name: str) -> RepositoryName:
    owner, _, name = full_name.partition("/")
    return RepositoryName(Host.GITHUB, owner, name)
