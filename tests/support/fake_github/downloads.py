"""The hosts without rate limits: raw files, archives and web pages."""

import hashlib
from collections.abc import Callable

from tests.support.fake_github.answer import (
    HTML_TYPE,
    TEXT_BLOCKED,
    TEXT_NOT_FOUND,
    TEXT_TYPE,
    Answer,
    Handled,
    text_answer,
)
from tests.support.fake_github.archive import build_archive
from tests.support.fake_github.commit import FakeCommit
from tests.support.fake_github.repository import FakeRepository
from tests.support.fake_github.request import Request
from tests.support.fake_github.world import FakeGitHub

Download = Callable[[FakeRepository, list[str]], Answer]


def answer_raw(world: FakeGitHub, request: Request) -> Handled:
    """Serve a file at `/raw/{owner}/{repository}/{ref}/{path}`."""
    return _answer(world, request, "raw", _raw)


def answer_codeload(world: FakeGitHub, request: Request) -> Handled:
    """Serve an archive at `/codeload/{owner}/{repository}/tar.gz/{ref}`."""
    return _answer(world, request, "archive", _archive)


def answer_web(world: FakeGitHub, request: Request) -> Handled:
    """Serve a repository page at `/web/{owner}/{repository}`, and sign-in at `/web/login/oauth/…`."""
    match request.parts[1:]:
        case ["login", "oauth", "authorize"]:
            query = world.faults.apply("authorize", lambda: world.oauth.authorize(request, world.now()))
            return Handled("authorize", query)
        case ["login", "oauth", "access_token"]:
            return Handled("token", world.faults.apply("token", lambda: world.exchange(request)))
    return _answer(world, request, "web", _page)


def _answer(world: FakeGitHub, request: Request, route: str, download: Download) -> Handled:
    answer = world.faults.apply(route, lambda: _look_up(world, request, download))
    if not answer.digest:
        return Handled(route, answer)
    etag = b'"%s"' % answer.digest.hex().encode()
    if etag in request.if_none_match:
        answer = Answer(304)
    return Handled(route, answer, ((b"etag", etag),))


def _look_up(world: FakeGitHub, request: Request, download: Download) -> Answer:
    if len(request.parts) < 3:
        return TEXT_NOT_FOUND
    host, owner, name, *rest = request.parts
    repository, moved = world.directory.find(f"{owner}/{name}")
    # These hosts ignore bad credentials.
    reader = request.token if request.token and world.limits.knows(request.token) else None
    if repository is None or not repository.visible_to(reader):
        return TEXT_NOT_FOUND
    if moved:
        location = "/".join([f"{world.base_url}/{host}/{repository.full_name}", *rest])
        return text_answer(301, "", (b"location", location.encode()))
    return TEXT_BLOCKED if repository.blocked else download(repository, rest)


def _raw(repository: FakeRepository, rest: list[str]) -> Answer:
    commit, path = _split_ref(repository, rest)
    if commit is None or path not in commit.files:
        return TEXT_NOT_FOUND
    content = commit.files[path].content
    return repository.cached(("raw", commit.sha, path), lambda: _raw_file(content))


def _raw_file(content: bytes) -> Answer:
    headers = (TEXT_TYPE, (b"cache-control", b"max-age=300"), (b"x-content-type-options", b"nosniff"))
    return Answer(200, content, headers, hashlib.sha256(content).digest())


def _split_ref(repository: FakeRepository, rest: list[str]) -> tuple[FakeCommit | None, str]:
    # A branch name may contain slashes, so use the shortest prefix that is a ref.
    for length in range(1, len(rest)):
        commit = repository.resolve("/".join(rest[:length]))
        if commit is not None:
            return commit, "/".join(rest[length:])
    return None, ""


def _archive(repository: FakeRepository, rest: list[str]) -> Answer:
    commit = repository.resolve("/".join(rest[1:])) if rest[:1] in (["tar.gz"], ["legacy.tar.gz"]) else None
    if commit is None:
        return TEXT_NOT_FOUND
    return cached_archive(repository, commit)


def cached_archive(repository: FakeRepository, commit: FakeCommit) -> Answer:
    """Return the archive of a commit as a streamed response; build it at most once."""
    return repository.cached(("archive", commit.sha), lambda: _packed(repository, commit))


def _packed(repository: FakeRepository, commit: FakeCommit) -> Answer:
    body = repository.archive_override
    if body is None:
        body = build_archive(repository.name, commit)
    file_name = f"{repository.name}-{commit.sha}.tar.gz"
    headers = (
        (b"content-type", b"application/x-gzip"),
        (b"content-disposition", f"attachment; filename={file_name}".encode()),
    )
    return Answer(200, body, headers, hashlib.sha256(body).digest(), streamed=True)


def _page(repository: FakeRepository, _rest: list[str]) -> Answer:
    page = f"<!doctype html><title>{repository.full_name}</title><h1>{repository.full_name}</h1>\n"
    return Answer(200, page.encode(), (HTML_TYPE,))
