"""A repository: where skills come from, under one canonical identity."""

from dataclasses import dataclass
from enum import StrEnum


class Host(StrEnum):
    """Where a repository lives."""

    GITHUB = "github"
    UPLOAD = "upload"


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


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the registry knows it."""

    id: int
    name: RepositoryName
    host_id: int | None
    commit: str | None
