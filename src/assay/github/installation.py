"""Installations of a GitHub App: hourly tokens, fetched with a JWT that the App signs."""

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
# GitHub accepts a JWT for at most ten minutes; allow for a clock difference of one.
JWT_SECONDS = 540
SKEW_SECONDS = 60
# Renew a token before it expires, because a call may take a while.
MARGIN_SECONDS = 300
# A token that is rejected this soon after it was fetched would be rejected again.
YOUNG_SECONDS = 60
LARGEST_BYTES = 65_536


class _InstallationToken(msgspec.Struct):
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class GitHubApp:
    """A GitHub App and its private key."""

    id: str
    private_key: str = field(repr=False)

    def sign_jwt(self, now: float) -> str:
        claims = {"iss": self.id, "iat": int(now) - SKEW_SECONDS, "exp": int(now) + JWT_SECONDS}
        return jwt.encode(claims, self.private_key, algorithm=ALGORITHM)


class Installation:
    """An installation; GitHub counts all of its calls together, whichever of its tokens they carry."""

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
        self._renew_at = 0.0
        self._fetched_at = 0.0

    def __repr__(self) -> str:
        return f"Installation({self._number})"

    @property
    def account(self) -> str:
        return f"installation {self._number} of app {self._app.id}"

    async def auth(self) -> GitHubAuth:
        """Return the current token; fetch it once for all waiting tasks, and again before it expires."""
        async with self._fetching:
            if self._auth is None or self._clock() >= self._renew_at:
                self._auth = await self._fetch()
            return self._auth

    def renew(self) -> bool:
        """Drop a rejected token; return False if it had only just been fetched."""
        is_worthwhile = self._auth is not None and self._clock() - self._fetched_at >= YOUNG_SECONDS
        self._auth = None
        return is_worthwhile

    async def _fetch(self) -> GitHubAuth:
        url = f"{self._api_url}/app/installations/{self._number}/access_tokens"
        now = self._clock()
        headers = GitHubAuth(self._app.sign_jwt(now)).headers
        try:
            async with self._session.post(url, headers=headers, allow_redirects=False) as response:
                if response.status in (401, 403, 404, 422):
                    raise Unavailable(
                        f"GitHub refused to issue a token for installation {self._number}: status {response.status}.",
                        code="github_bad_token",
                    )
                if response.status != 201:
                    raise _token_unavailable(f"status {response.status}")
                granted = msgspec.json.decode(await response.content.read(LARGEST_BYTES), type=_InstallationToken)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            # Drop the cause: the response may contain a token.
            raise _token_unavailable(type(error).__name__) from None
        self._fetched_at = now
        self._renew_at = max(granted.expires_at.timestamp() - MARGIN_SECONDS, now + YOUNG_SECONDS)
        return GitHubAuth(granted.token)


def _token_unavailable(reason: str) -> Unavailable:
    return Unavailable(
        f"GitHub did not issue a token for an App installation: {reason}.", code="github_app_unavailable"
    )
