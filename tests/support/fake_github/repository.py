"""Repositories: metadata, branches and commits."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zlib import crc32

from tests.support.fake_github.answer import Answer
from tests.support.fake_github.commit import Changes, FakeCommit, commit_files

if TYPE_CHECKING:
    from tests.support.fake_github.world import FakeGitHub


def id_of_login(login: str) -> int:
    """Return the numeric id of a user or organisation unless `FakeGitHub.owner_ids` says otherwise."""
    return 1_000_000 + crc32(login.lower().encode()) % 10**8


class FakeRepository:
    """A repository. Setting a public field changes later responses and clears cached ones."""

    # Slots make a misspelt field in a test an error.
    __slots__ = (
        "_answers",
        "_world",
        "archive_override",
        "archived",
        "blocked",
        "branches",
        "commits",
        "created_at",
        "default_branch",
        "description",
        "full_name",
        "id",
        "private",
        "pushed_at",
        "readers",
        "stars",
        "topics",
        "tree_limit",
    )

    def __init__(self, world: "FakeGitHub", number: int, full_name: str) -> None:
        self._world = world
        self._answers: dict[object, Answer] = {}
        self.id = number
        self.full_name = full_name
        self.default_branch = "main"
        self.description = ""
        self.stars = 0
        self.topics: tuple[str, ...] = ()
        self.private = False
        self.readers: frozenset[str] = frozenset()
        """Tokens with access to the private repository."""
        self.archived = False
        self.blocked = False
        """Blocked for legal reasons: all requests get status 451."""
        self.created_at = "2026-01-01T00:00:00Z"
        self.pushed_at = self.created_at
        self.branches: dict[str, FakeCommit] = {}
        self.commits: dict[str, FakeCommit] = {}
        self.archive_override: bytes | None = None
        """Served by codeload instead of the real archive of any commit."""
        self.tree_limit = 100_000
        """Number of entries after which a tree is truncated."""

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        with self._world.lock:
            object.__setattr__(self, name, value)
            self.clear_answers()
            self._world.clear_searches()

    def push(self, changes: Changes, *, branch: str | None = None, message: str = "Change files") -> str:
        """Commit files (None deletes one) to a branch, by default the default branch; return the new SHA."""
        with self._world.lock:
            branch = branch or self.default_branch
            parent = self.branches.get(branch) or self.head
            commit = commit_files(parent, changes, self._next_date(), self.owner, message)
            self.commits[commit.sha] = commit
            self.branches[branch] = commit
            self.pushed_at = commit.date
            return commit.sha

    def rename(self, full_name: str) -> None:
        """Change its full name; the former name redirects."""
        with self._world.lock:
            self._world.directory.move(self, full_name)

    def delete(self) -> None:
        """Delete it; its name can be reused."""
        with self._world.lock:
            self._world.directory.remove(self)
            self._world.clear_searches()

    @property
    def owner(self) -> str:
        return self.full_name.partition("/")[0]

    @property
    def owner_id(self) -> int:
        """The numeric id of the owner."""
        return self._world.id_of_login(self.owner)

    @property
    def name(self) -> str:
        return self.full_name.partition("/")[2]

    @property
    def head(self) -> FakeCommit | None:
        """The newest commit of the default branch; None if the repository is empty."""
        return self.branches.get(self.default_branch)

    @property
    def sha(self) -> str:
        if self.head is None:
            raise LookupError(f"{self.full_name} is empty.")
        return self.head.sha

    def resolve(self, ref: str) -> FakeCommit | None:
        """Return the commit of HEAD, a full SHA, or a branch given as x, heads/x or refs/heads/x."""
        if ref == "HEAD":
            return self.head
        commit = self.commits.get(ref) or self.branches.get(ref)
        return commit or self.branches.get(ref.removeprefix("refs/").removeprefix("heads/"))

    def visible_to(self, token: str | None) -> bool:
        """Return whether a client with this token can see the repository."""
        return not self.private or token in self.readers

    def cached(self, key: object, make: Callable[[], Answer]) -> Answer:
        """Return a response that is cached until the repository changes."""
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = make()
        return answer

    def clear_answers(self) -> None:
        self._answers.clear()

    def allow(self, tokens: Iterable[str]) -> None:
        """Give more tokens access to the private repository."""
        self.readers = self.readers | frozenset(tokens)

    def _next_date(self) -> datetime:
        # Independent of the clock, so that SHAs are equal in every run.
        return datetime.fromisoformat(self.created_at) + timedelta(minutes=len(self.commits))
