"""Commits: files, their tree, and a SHA derived from the content."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tests.support.fake_github.git_objects import FakeFile, Tree, build_tree, hash_commit

Content = bytes | str | FakeFile
Changes = Mapping[str, Content | None]


@dataclass(frozen=True)
class FakeCommit:
    """A commit with all files of the repository."""

    sha: str
    parent: "FakeCommit | None"
    author: str
    date: str
    message: str
    files: Mapping[str, FakeFile]
    tree: Tree


def commit_files(parent: FakeCommit | None, changes: Changes, date: datetime, author: str, message: str) -> FakeCommit:
    """Create the next commit; equal arguments give equal SHAs."""
    files = dict(parent.files) if parent else {}
    for path, content in changes.items():
        if content is None:
            del files[path]
        else:
            files[path] = _as_file(content)
    tree = build_tree(files)
    parent_sha = parent.sha if parent else None
    sha = hash_commit(tree.sha, parent_sha, author, int(date.timestamp()), message)
    return FakeCommit(sha, parent, author, f"{date:%Y-%m-%dT%H:%M:%SZ}", message, files, tree)


def _as_file(content: Content) -> FakeFile:
    match content:
        case FakeFile():
            return content
        case str():
            return FakeFile(content.encode())
        case bytes():
            return FakeFile(content)
