"""Who we are to GitHub: nobody, or the owner of a token. A value, passed at the call."""

from dataclasses import dataclass


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


ANONYMOUS = GitHubAuth()
