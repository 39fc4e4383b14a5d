"""Repository and code search, with pages and the limit of 1,000 results."""

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urlencode

from tests.support.fake_github.answer import DOCS, Answer, Header, json_answer, problem
from tests.support.fake_github.bodies import Json, brief_repository, full_repository
from tests.support.fake_github.ranges import InvalidRangeError
from tests.support.fake_github.repository import FakeRepository
from tests.support.fake_github.request import Request
from tests.support.fake_github.search_query import (
    FILE_QUALIFIERS,
    REPOSITORY_QUALIFIERS,
    InvalidQueryError,
    SearchQuery,
    read_query,
)
from tests.support.fake_github.world import FakeGitHub

_RESULT_CAP = 1000
_SEARCH_DOCS = f"{DOCS}/search/search"
_NEEDS_TOKEN = "Must be authenticated to access the code search API"

Found = TypeVar("Found")


def answer_search(world: FakeGitHub, request: Request) -> Answer:
    """Respond to a search of repositories or code, depending on the path."""
    code = request.parts[2] == "code"
    if code and request.token is None:
        return problem(401, "Requires authentication", _SEARCH_DOCS, errors=[_error("invalid", _NEEDS_TOKEN)])
    key = (request.path, request.query, request.token, world.incomplete_results)
    return world.cached_search(key, lambda: _search(world, request, code))


def _search(world: FakeGitHub, request: Request, code: bool) -> Answer:
    parameters = request.parameters()
    per_page = min(_positive(parameters.get("per_page"), 30), 100)
    page = _positive(parameters.get("page"), 1)
    if _beyond_cap(page, per_page, code):
        return problem(422, "Only the first 1000 search results are available", _SEARCH_DOCS)
    try:
        query = read_query(parameters.get("q", ""), FILE_QUALIFIERS if code else REPOSITORY_QUALIFIERS)
        if code:
            total, items = _search_code(world, request.token, query, parameters, page, per_page)
        else:
            total, items = _search_repositories(world, request.token, query, parameters, page, per_page)
    except (InvalidQueryError, InvalidRangeError) as error:
        reason = "missing" if str(error) == "missing" else "invalid"
        return problem(422, "Validation Failed", _SEARCH_DOCS, errors=[_error(reason)])
    body = {"total_count": total, "incomplete_results": world.incomplete_results, "items": items}
    return json_answer(200, body, *_links(world.base_url + request.path, parameters, page, per_page, total))


def _search_repositories(
    world: FakeGitHub,
    token: str | None,
    query: SearchQuery,
    parameters: dict[str, str],
    page: int,
    per_page: int,
) -> tuple[int, list[Json]]:
    visible = _visible(world, token)
    found = list(
        world.cached_hits(
            ("repositories", query, token), lambda: [each for each in visible if query.fits_repository(each)]
        )
    )
    match parameters.get("sort"):
        case "updated":
            found.sort(key=lambda repository: repository.pushed_at)
        case _:
            found.sort(key=lambda repository: repository.stars)
    if parameters.get("order", "desc") == "desc":
        found.reverse()
    page_hits = _page(found, page, per_page)
    return len(found), [full_repository(repository, world.base_url) | {"score": 1.0} for repository in page_hits]


def _search_code(
    world: FakeGitHub,
    token: str | None,
    query: SearchQuery,
    parameters: dict[str, str],
    page: int,
    per_page: int,
) -> tuple[int, list[Json]]:
    found = world.cached_hits(
        ("code", query, token),
        lambda: [
            (repository, path)
            for repository in _visible(world, token)
            if repository.head
            for path, file in repository.head.files.items()
            if query.fits_file(repository, path, file)
        ],
    )
    if parameters.get("order") == "asc":
        found = found[::-1]
    page_hits = _page(found, page, per_page)
    return len(found), [_code_item(repository, path, world.base_url) for repository, path in page_hits]


def _code_item(repository: FakeRepository, path: str, base_url: str) -> Json:
    head = repository.resolve("HEAD")
    assert head is not None
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": head.files[path].sha,
        "url": f"{base_url}/api/repositories/{repository.id}/contents/{path}?ref={head.sha}",
        "html_url": f"{base_url}/web/{repository.full_name}/blob/{head.sha}/{path}",
        "repository": brief_repository(repository, base_url),
        "score": 1.0,
    }


def _visible(world: FakeGitHub, token: str | None) -> list[FakeRepository]:
    return [
        repository for repository in world.directory.all() if repository.visible_to(token) and not repository.blocked
    ]


def _beyond_cap(page: int, per_page: int, code: bool) -> bool:
    # Code search refuses a page that ends past the cap, repository search one that starts past it.
    return page * per_page > _RESULT_CAP if code else (page - 1) * per_page >= _RESULT_CAP


def _page(found: Sequence[Found], page: int, per_page: int) -> Sequence[Found]:
    return found[(page - 1) * per_page : page * per_page]


def _links(url: str, parameters: dict[str, str], page: int, per_page: int, total: int) -> tuple[Header, ...]:
    last = max(1, -(-min(total, _RESULT_CAP) // per_page))
    targets = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    if page >= last:
        del targets["next"], targets["last"]
    if page == 1:
        del targets["prev"], targets["first"]
    links = [f'<{url}?{urlencode({**parameters, "page": target})}>; rel="{rel}"' for rel, target in targets.items()]
    return ((b"link", ", ".join(links).encode()),) if links else ()


def _positive(text: str | None, default: int) -> int:
    return max(1, int(text)) if text and text.isdecimal() else default


def _error(code: str, message: str | None = None) -> Json:
    error: Json = {"resource": "Search", "field": "q", "code": code}
    return {"message": message} | error if message else error
