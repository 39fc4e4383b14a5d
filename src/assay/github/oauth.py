"""Who somebody is, in GitHub's word: the web flow of an OAuth app with state and PKCE, or a token that it has given."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from assay.github.auth import GitHubAuth
from assay.model.errors import AssayError, Forbidden, Unauthenticated, Unavailable

# What GitHub says when the settings of this registry are wrong, which no visitor can mend.
OUR_MISTAKES = frozenset(
    {"incorrect_client_credentials", "redirect_uri_mismatch", "application_suspended", "unsupported_grant_type"}
)

T = TypeVar("T")


class GitHubUser(msgspec.Struct, frozen=True):
    """A person; the number stays, the login may change."""

    id: int
    login: str


class _Token(msgspec.Struct):
    access_token: str | None = None
    error: str | None = None


class _Checked(msgspec.Struct):
    user: GitHubUser | None


@dataclass(frozen=True)
class GitHubSignIn:
    """An OAuth app of GitHub."""

    session: aiohttp.ClientSession
    web_url: str
    api_url: str
    client_id: str
    client_secret: str = field(repr=False)
    timeout_seconds: float = 15

    def authorize_url(self, *, redirect_uri: str, state: str, verifier: str) -> str:
        """Where a person is asked whether GitHub may tell us who they are. No scope: public facts are enough."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.web_url}/login/oauth/authorize?{urlencode(asked)}"

    async def identify(self, *, code: str, verifier: str, redirect_uri: str) -> GitHubUser:
        """The person who came back with this code. The token is used for this one question and forgotten."""
        form = {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        token = await self._ask("POST", f"{self.web_url}/login/oauth/access_token", _Token, data=form)
        # GitHub refuses with status 200, and says so in the body.
        if token.error in OUR_MISTAKES:
            raise Unavailable(f"Sign-in with GitHub is not set up correctly: {token.error}.", code="oauth_wrong")
        if token.access_token is None:
            raise Forbidden("GitHub did not confirm who you are. Please try again.", code="github_refused")
        headers = GitHubAuth(token.access_token).headers
        return await self._ask("GET", f"{self.api_url}/user", GitHubUser, headers=headers)

    async def recognise(self, token: str) -> GitHubUser:
        """The person for whom GitHub has given this token to this very app.

        `/user` would name somebody for any token: whoever runs another app could come as each of its users.
        """
        strange = Unauthenticated(
            "GitHub knows no such token, or did not give it to the app of this registry.", code="github_token_refused"
        )
        wrong = Unavailable("Sign-in with GitHub is not set up correctly: 401 for the app.", code="oauth_wrong")
        checked = await self._ask(
            "POST",
            f"{self.api_url}/applications/{quote(self.client_id, safe='')}/token",
            _Checked,
            refusals={401: wrong, 404: strange, 422: strange},
            headers={"Authorization": aiohttp.encode_basic_auth(self.client_id, self.client_secret)},
            json={"access_token": token},
        )
        if checked.user is None:
            raise strange
        return checked.user

    async def _ask(
        self,
        method: str,
        url: str,
        kind: type[T],
        *,
        refusals: Mapping[int, AssayError] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
        **sent: Any,
    ) -> T:
        accepting = {"Accept": "application/json", **headers}
        timeout = aiohttp.ClientTimeout(total=self.timeout_seconds)
        try:
            async with self.session.request(
                method, url, headers=accepting, timeout=timeout, allow_redirects=False, **sent
            ) as response:
                if response.status in refusals:
                    raise refusals[response.status]
                if response.status != 200:
                    raise Unavailable(f"GitHub answered {response.status} to a sign-in.", code="github_unavailable")
                return msgspec.json.decode(await response.read(), type=kind)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            # Without the cause: what GitHub sent, or was sent, may hold a token.
            raise Unavailable("GitHub does not answer to a sign-in.", code="github_unavailable") from None
