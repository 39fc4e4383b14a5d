"""JSON bodies of repositories, commits and trees."""

from itertools import islice

from tests.support.fake_github.commit import FakeCommit
from tests.support.fake_github.git_objects import Entry, Tree
from tests.support.fake_github.repository import FakeRepository

Json = dict[str, object]


def brief_repository(repository: FakeRepository, base_url: str) -> Json:
    """Return the short form used by code search."""
    return {
        "id": repository.id,
        "name": repository.name,
        "full_name": repository.full_name,
        "owner": {"login": repository.owner, "id": repository.owner_id, "type": "Organization"},
        "private": repository.private,
        "html_url": f"{base_url}/web/{repository.full_name}",
        "description": repository.description or None,
        "fork": False,
        "url": _api_url(repository, base_url),
    }


def full_repository(repository: FakeRepository, base_url: str) -> Json:
    """Return the long form used by the repository endpoint and repository search."""
    return brief_repository(repository, base_url) | {
        "created_at": repository.created_at,
        "updated_at": repository.pushed_at,
        "pushed_at": repository.pushed_at,
        "clone_url": f"{base_url}/web/{repository.full_name}.git",
        "size": _size_kilobytes(repository),
        "stargazers_count": repository.stars,
        "watchers_count": repository.stars,
        "archived": repository.archived,
        "disabled": False,
        "visibility": "private" if repository.private else "public",
        "topics": list(repository.topics),
        "default_branch": repository.default_branch,
    }


def commit_body(repository: FakeRepository, commit: FakeCommit, base_url: str) -> Json:
    """Return a commit without its list of files."""
    api_url = _api_url(repository, base_url)
    person = {
        "name": commit.author,
        "email": f"{commit.author}@users.noreply.github.com",
        "date": commit.date,
    }
    return {
        "sha": commit.sha,
        "commit": {
            "author": person,
            "committer": person,
            "message": commit.message,
            "tree": {"sha": commit.tree.sha, "url": f"{api_url}/git/trees/{commit.tree.sha}"},
        },
        "url": f"{api_url}/commits/{commit.sha}",
        "html_url": f"{base_url}/web/{repository.full_name}/commit/{commit.sha}",
        "parents": [{"sha": commit.parent.sha}] if commit.parent else [],
    }


def tree_body(repository: FakeRepository, tree: Tree, sha: str, recursive: bool, base_url: str) -> Json:
    """Return the entries of a folder, recursively if requested, truncated at the repository's limit."""
    url = f"{_api_url(repository, base_url)}/git"
    listed = tree.walk(sha) if recursive else ((entry.name, entry) for entry in tree.folders[sha])
    entries = [_entry(path, entry, url) for path, entry in islice(listed, repository.tree_limit)]
    return {
        "sha": sha,
        "url": f"{url}/trees/{sha}",
        "tree": entries,
        "truncated": next(iter(listed), None) is not None,
    }


def _entry(path: str, entry: Entry, url: str) -> Json:
    body: Json = {"path": path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
    if entry.size is not None:
        body["size"] = entry.size
    return body | {"url": f"{url}/{entry.type}s/{entry.sha}"}


def _api_url(repository: FakeRepository, base_url: str) -> str:
    return f"{base_url}/api/repos/{repository.full_name}"


def _size_kilobytes(repository: FakeRepository) -> int:
    head = repository.head
    return sum(len(file.content) for file in head.files.values()) // 1024 if head else 0
