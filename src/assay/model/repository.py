"""A repository: where skills come from, under one canonical identity."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Host(StrEnum):
    """Where a repository lives."""

    GITHUB = "github"
    GIT = "git"
    """Another git server; the owner begins with its name."""
    UPLOAD = "upload"


# Between a git server, its groups and their groups, where one part of a name must do: GitHub's owners have no such
# character, so nobody there can take a name that belongs elsewhere.
WITHIN = "~"


@dataclass(frozen=True, slots=True)
class RepositoryName:
    """How people write a repository; compared without regard to case."""

    host: Host
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def key(self) -> tuple[str, str, str]:
        """The form that is equal for all spellings."""
        return self.host.value, self.owner.lower(), self.name.lower()

    @property
    def server(self) -> str:
        """The git server, of a repository that is not on GitHub."""
        return self.owner.partition(WITHIN)[0]

    @property
    def page_url(self) -> str:
        """Where people look at a repository of another git server. A server with a port is this machine."""
        scheme = "http" if ":" in self.server else "https"
        return f"{scheme}://{self.owner.replace(WITHIN, '/')}/{self.name}"

    @property
    def clone_url(self) -> str:
        """Where git fetches it."""
        return f"{self.page_url}.git"


def on_server(server: str, path: Sequence[str]) -> RepositoryName:
    """A repository of another git server, by the parts of its path."""
    *groups, name = path
    return RepositoryName(Host.GIT, WITHIN.join([server.lower(), *groups]), name)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the registry knows it."""

    id: int
    name: RepositoryName
    host_id: int | None
    commit: str | None


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What its host says about a repository now; a plain git server knows neither numbers nor stars."""

    name: RepositoryName
    host_id: int | None
    default_branch: str
    stars: int | None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit; a symbolic link is not a regular one."""

    path: str
    size: int
    is_regular: bool
