"""The endpoints of the REST API: repository, commit, tree and user."""

from tests.support.fake_github.answer import (
    BLOCKED,
    DOCS,
    EMPTY_REPOSITORY,
    NOT_FOUND,
    SHA_TYPE,
    Answer,
    api_redirect,
    json_answer,
    problem,
)
from tests.support.fake_github.bodies import commit_body, full_repository, tree_body
from tests.support.fake_github.lists import answer_account, answer_events, answer_owner
from tests.support.fake_github.repository import FakeRepository
from tests.support.fake_github.request import Request
from tests.support.fake_github.search import answer_search
from tests.support.fake_github.world import FakeGitHub


def respond(world: FakeGitHub, request: Request, route: str) -> Answer:
    """Respond to an authenticated and admitted API request."""
    if request.method not in ("GET", "HEAD") or route == "unknown":
        return NOT_FOUND
    if route == "user":
        return world.oauth.user(request.token)
    if route == "account":
        return answer_account(world, request.parts[2])
    if route == "membership":
        return world.oauth.membership(request.token, request.parts[4], world.id_of_login(request.parts[4]))
    if route == "search":
        return answer_search(world, request)
    if route == "owner":
        return answer_owner(world, request)
    if route == "events":
        return answer_events(world, request)
    if request.parts[1] == "repositories":
        number = request.parts[2]
        repository = world.directory.find_by_id(int(number)) if number.isdecimal() else None
        moved, rest = False, request.parts[3:]
    else:
        repository, moved = world.directory.find(f"{request.parts[2]}/{request.parts[3]}")
        rest = request.parts[4:]
    if repository is None or not repository.visible_to(request.token):
        return NOT_FOUND
    if moved:
        target = "/".join([f"{world.base_url}/api/repositories/{repository.id}", *rest])
        return api_redirect(target + request.query_suffix())
    if repository.blocked:
        return BLOCKED
    match route:
        case "repo":
            return _repository(world, repository)
        case "commit":
            only_sha = b"application/vnd.github.sha" in request.accept
            return _commit(world, repository, "/".join(rest[1:]), only_sha=only_sha)
        case _:
            return _tree(world, repository, "/".join(rest[2:]), "recursive=" in request.query)


def _repository(world: FakeGitHub, repository: FakeRepository) -> Answer:
    return repository.cached(
        "repo", lambda: json_answer(200, full_repository(repository, world.base_url), conditional=True)
    )


def _commit(world: FakeGitHub, repository: FakeRepository, ref: str, *, only_sha: bool) -> Answer:
    if not repository.commits:
        return EMPTY_REPOSITORY
    commit = repository.resolve(ref)
    if commit is None:
        return problem(422, f"No commit found for SHA: {ref}", f"{DOCS}/commits/commits#get-a-commit")
    if only_sha:
        return Answer(200, commit.sha.encode(), (SHA_TYPE,), plain_etag=commit.sha.encode())
    return repository.cached(
        ("commit", commit.sha),
        lambda: json_answer(200, commit_body(repository, commit, world.base_url), conditional=True),
    )


def _tree(world: FakeGitHub, repository: FakeRepository, ref: str, recursive: bool) -> Answer:
    if not repository.commits:
        return EMPTY_REPOSITORY
    commit = repository.resolve(ref)
    if commit is not None:
        tree, sha = commit.tree, commit.tree.sha
    else:
        holders = (commit.tree for commit in repository.commits.values() if ref in commit.tree.folders)
        found = next(holders, None)
        if found is None:
            return NOT_FOUND
        tree, sha = found, ref
    return repository.cached(
        ("tree", sha, recursive),
        lambda: json_answer(200, tree_body(repository, tree, sha, recursive, world.base_url), conditional=True),
    )
