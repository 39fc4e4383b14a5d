"""A repository of the fake GitHub: its description, its branches and their commits."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.support.fake_github.answer import Answer
from tests.support.fake_github.commit import Changes, FakeCommit, commit_files

if TYPE_CHECKING:
    from tests.support.fake_github.world import FakeGitHub


class FakeRepository:
    """Set any public field to change what GitHub says; answers made before are forgotten."""

    # Slots, so that a misspelt field in a test is an error and not a field that nobody reads.
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
        """Tokens that see the repository although it is private."""
        self.archived = False
        self.blocked = False
        """Taken down for legal reasons: everything answers 451."""
        self.created_at = "2026-01-01T00:00:00Z"
        self.pushed_at = self.created_at
        self.branches: dict[str, FakeCommit] = {}
        self.commits: dict[str, FakeCommit] = {}
        self.archive_override: bytes | None = None
        """Served by codeload instead of the real archive, whatever the commit."""
        self.tree_limit = 100_000
        """Entries after which a tree is truncated."""

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        with self._world.lock:
            object.__setattr__(self, name, value)
            self.forget_answers()
            self._world.forget_searches()

    def push(self, changes: Changes, *, branch: str | None = None, message: str = "Change files") -> str:
        """Commit files (None deletes one) to a branch, by default the default one; gives the new sha."""
        with self._world.lock:
            branch = branch or self.default_branch
            parent = self.branches.get(branch) or self.head
            commit = commit_files(parent, changes, self._next_date(), self.owner, message)
            self.commits[commit.sha] = commit
            self.branches[branch] = commit
            self.pushed_at = commit.date
            return commit.sha

    def rename(self, full_name: str) -> None:
        """Give it another name or owner; the old name redirects."""
        with self._world.lock:
            self._world.directory.move(self, full_name)

    def delete(self) -> None:
        """Take it away; its name is free again."""
        with self._world.lock:
            self._world.directory.remove(self)
            self._world.forget_searches()

    @property
    def owner(self) -> str:
        """The first half of the name."""
        return self.full_name.partition("/")[0]

    @property
    def name(self) -> str:
        """The second half of the name."""
        return self.full_name.partition("/")[2]

    @property
    def head(self) -> FakeCommit | None:
        """The newest commit of the default branch; none in an empty repository."""
        return self.branches.get(self.default_branch)

    @property
    def sha(self) -> str:
        """The sha of the head."""
        if self.head is None:
            raise LookupError(f"{self.full_name} is empty.")
        return self.head.sha

    def resolve(self, ref: str) -> FakeCommit | None:
        """The commit meant by HEAD, a full sha or a branch, as bare name, heads/x or refs/heads/x."""
        if ref == "HEAD":
            return self.head
        commit = self.commits.get(ref) or self.branches.get(ref)
        return commit or self.branches.get(ref.removeprefix("refs/").removeprefix("heads/"))

    def visible_to(self, token: str | None) -> bool:
        """Whether a bearer of the token may know that it exists."""
        return not self.private or token in self.readers

    def remembered(self, key: object, make: Callable[[], Answer]) -> Answer:
        """An answer made once and given again until something changes."""
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = make()
        return answer

    def forget_answers(self) -> None:
        """Make every answer anew."""
        self._answers.clear()

    def allow(self, tokens: Iterable[str]) -> None:
        """Let more tokens see the repository."""
        self.readers = self.readers | frozenset(tokens)

    def _next_date(self) -> datetime:
        # No clock is asked, so that the shas are the same in every run.
        return datetime.fromisoformat(self.created_at) + timedelta(minutes=len(self.commits))
