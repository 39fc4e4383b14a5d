"""A GitHub App where it is installed: its tokens last an hour, and are fetched with a signed statement of the App."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import aiohttp
import jwt
import msgspec

from assay.github.auth import GitHubAuth
from assay.model.errors import Unavailable

ALGORITHM = "RS256"
# GitHub takes a statement for ten minutes at most; clocks may differ by one.
STATEMENT_SECONDS = 540
SKEW_SECONDS = 60
# A token is not used to its very end: a call may take a while.
MARGIN_SECONDS = 300
# A token that is refused so soon will not be better when it is fetched again.
YOUNG_SECONDS = 60
LARGEST_BYTES = 65_536


class _Granted(msgspec.Struct):
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class GitHubApp:
    """The App itself: who it is, and the key that proves it."""

    id: str
    private_key: str = field(repr=False)

    def statement(self, now: float) -> str:
        """Signed: this is the App, now."""
        said = {"iss": self.id, "iat": int(now) - SKEW_SECONDS, "exp": int(now) + STATEMENT_SECONDS}
        return jwt.encode(said, self.private_key, algorithm=ALGORITHM)


class Installation:
    """One of us, to GitHub: all calls of an installation are counted together, whatever token they carry."""

    def __init__(
        self, app: GitHubApp, number: int, session: aiohttp.ClientSession, api_url: str, clock: Callable[[], float]
    ) -> None:
        self._app = app
        self._number = number
        self._session = session
        self._api_url = api_url
        self._clock = clock
        self._fetching = asyncio.Lock()
        self._auth: GitHubAuth | None = None
        self._good_until = 0.0
        self._fetched_at = 0.0

    def __repr__(self) -> str:
        return f"Installation({self._number})"

    @property
    def account(self) -> str:
        """Whom GitHub counts the calls for."""
        return f"installation {self._number} of app {self._app.id}"

    async def auth(self) -> GitHubAuth:
        """The token; fetched once for all who want it now, and anew before it ends."""
        async with self._fetching:
            if self._auth is None or self._clock() >= self._good_until:
                self._auth = await self._fetch()
            return self._auth

    def renew(self) -> bool:
        """Forget a token that GitHub refuses, unless it was fetched only just now."""
        is_worth_it = self._auth is not None and self._clock() - self._fetched_at >= YOUNG_SECONDS
        self._auth = None
        return is_worth_it

    async def _fetch(self) -> GitHubAuth:
        url = f"{self._api_url}/app/installations/{self._number}/access_tokens"
        now = self._clock()
        headers = GitHubAuth(self._app.statement(now)).headers
        try:
            async with self._session.post(url, headers=headers, allow_redirects=False) as response:
                if response.status in (401, 403, 404, 422):
                    raise Unavailable(
                        f"GitHub gives no token to installation {self._number}: it answered {response.status}.",
                        code="github_bad_token",
                    )
                if response.status != 201:
                    raise _unknown(f"it answered {response.status}")
                granted = msgspec.json.decode(await response.content.read(LARGEST_BYTES), type=_Granted)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as problem:
            # Without the cause: what GitHub sent may hold a token.
            raise _unknown(type(problem).__name__) from None
        self._fetched_at = now
        self._good_until = max(granted.expires_at.timestamp() - MARGIN_SECONDS, now + YOUNG_SECONDS)
        return GitHubAuth(granted.token)


def _unknown(why: str) -> Unavailable:
    return Unavailable(f"GitHub gives no token to an installation: {why}.", code="github_app_unavailable")
