"""Who we are to GitHub: nobody, or the owner of a token. A value, passed at the call."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GitHubAuth:
    """A token, or none. It never shows itself."""

    token: str | None = None

    def __repr__(self) -> str:
        return "GitHubAuth(***)" if self.token else "GitHubAuth(anonymous)"

    @property
    def headers(self) -> dict[str, str]:
        """What to send with a request to GitHub's own API or raw host."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def account(self) -> str:
        """Whom GitHub counts the calls for; a secret if there is a token."""
        return self.token or "anonymous"

    async def auth(self) -> "GitHubAuth":
        """What to send now."""
        return self

    def renew(self) -> bool:
        """Whether GitHub's refusal can be mended by a new token: there is none."""
        return False


@dataclass(frozen=True)
class AppOptions:
    """An App, where its key is, and where it is installed."""

    id: str
    key_file: Path
    installations: Sequence[int]


class Identity(Protocol):
    """Somebody we can be: a token of its own, or an installation whose tokens come and go."""

    @property
    def account(self) -> str:
        """Whom GitHub counts the calls for."""

    async def auth(self) -> GitHubAuth:
        """What to send now; Unavailable if there is nothing to send."""

    def renew(self) -> bool:
        """GitHub refused what was sent; whether it is worth asking again with something new."""


ANONYMOUS = GitHubAuth()
