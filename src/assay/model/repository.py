"""Repositories and their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Host(StrEnum):
    """The kind of host."""

    GITHUB = "github"
    GIT = "git"
    """A git server other than GitHub; the owner starts with its host name."""
    UPLOAD = "upload"


# Joins a git server and its nested groups into one owner name. GitHub logins cannot contain it, so no GitHub account
# can take the name of a repository on another server.
GROUP_SEPARATOR = "~"


@dataclass(frozen=True, slots=True)
class RepositoryName:
    """Host, owner and name of a repository; compare with `key`, which ignores case."""

    host: Host
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.host.value, self.owner.lower(), self.name.lower()

    @property
    def server(self) -> str:
        """The host name of the git server, for repositories that are not on GitHub."""
        return self.owner.partition(GROUP_SEPARATOR)[0]

    @property
    def page_url(self) -> str:
        """The web page on another git server. A server with a port is local and has no TLS."""
        scheme = "http" if ":" in self.server else "https"
        return f"{scheme}://{self.owner.replace(GROUP_SEPARATOR, '/')}/{self.name}"

    @property
    def clone_url(self) -> str:
        return f"{self.page_url}.git"


def repository_on_server(server: str, path: Sequence[str]) -> RepositoryName:
    *groups, name = path
    return RepositoryName(Host.GIT, GROUP_SEPARATOR.join([server.lower(), *groups]), name)


@dataclass(frozen=True, slots=True)
class Repository:
    """A stored repository."""

    id: int
    name: RepositoryName
    host_id: int | None
    commit: str | None
    # GitHub's numeric id of the owner; None if GitHub has not been asked.
    owner_id: int | None = None


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """Current facts from the host; plain git servers have neither ids nor stars."""

    name: RepositoryName
    host_id: int | None
    default_branch: str
    stars: int | None
    owner_id: int | None = None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file in a commit. Symbolic links are not regular."""

    path: str
    size: int
    is_regular: bool
