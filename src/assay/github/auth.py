"""Credentials for GitHub as values that are passed to each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GitHubAuth:
    """A token, or none for anonymous calls. Its repr hides the token."""

    token: str | None = None

    def __repr__(self) -> str:
        return "GitHubAuth(***)" if self.token else "GitHubAuth(anonymous)"

    @property
    def headers(self) -> dict[str, str]:
        """Headers for GitHub's API and raw hosts only."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def account(self) -> str:
        """The account that GitHub counts calls for; secret if there is a token."""
        return self.token or "anonymous"

    async def auth(self) -> "GitHubAuth":
        return self

    def renew(self) -> bool:
        """Return False: a fixed token cannot be renewed."""
        return False


@dataclass(frozen=True)
class AppOptions:
    """A GitHub App, its private key file, and its installations."""

    id: str
    key_file: Path
    installations: Sequence[int]


class Identity(Protocol):
    """An account that calls are made for: a fixed token, or an App installation with short-lived tokens."""

    @property
    def account(self) -> str:
        """The account that GitHub counts calls for."""

    async def auth(self) -> GitHubAuth:
        """Return the current credentials; raise Unavailable if there are none."""

    def renew(self) -> bool:
        """Drop credentials that GitHub rejected; return whether a retry with new ones is worthwhile."""


ANONYMOUS = GitHubAuth()
