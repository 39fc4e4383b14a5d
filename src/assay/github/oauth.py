"""Sign-in with GitHub: the web flow of an OAuth app with state and PKCE, or a token issued to that app."""

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

# Errors that mean this registry is misconfigured, which a visitor cannot fix.
MISCONFIGURATIONS = frozenset(
    {"incorrect_client_credentials", "redirect_uri_mismatch", "application_suspended", "unsupported_grant_type"}
)

T = TypeVar("T")


class GitHubUser(msgspec.Struct, frozen=True):
    """A GitHub account; its id is permanent, its login may change."""

    id: int
    login: str


@dataclass(frozen=True, slots=True)
class OrganisationMembership:
    """An active membership, as GitHub reports it for the person who signs in."""

    organisation_id: int
    login: str
    role: str


class _Organisation(msgspec.Struct):
    id: int
    login: str


class _Membership(msgspec.Struct):
    state: str
    role: str
    organization: _Organisation


class _Token(msgspec.Struct):
    access_token: str | None = None
    error: str | None = None


class _TokenCheck(msgspec.Struct):
    user: GitHubUser | None


@dataclass(frozen=True)
class GitHubSignIn:
    """Client for a GitHub OAuth app."""

    session: aiohttp.ClientSession
    web_url: str
    api_url: str
    client_id: str
    client_secret: str = field(repr=False)
    timeout_seconds: float = 15

    def authorize_url(self, *, redirect_uri: str, state: str, verifier: str, scope: str | None = None) -> str:
        """Return the URL of GitHub's consent page. Signing in needs no scope: public facts are enough."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = {
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        } | ({"scope": scope} if scope else {})
        return f"{self.web_url}/login/oauth/authorize?{urlencode(query)}"

    async def identify(
        self, *, code: str, verifier: str, redirect_uri: str, organisation: str | None = None
    ) -> tuple[GitHubUser, OrganisationMembership | None]:
        """Return the person who came back with this code, and the membership in an organisation if requested.

        The token is dropped afterwards. Raises Forbidden if the person is not an active member.
        """
        form = {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        token = await self._request("POST", f"{self.web_url}/login/oauth/access_token", _Token, data=form)
        # GitHub reports errors with status 200, in the body.
        if token.error in MISCONFIGURATIONS:
            raise Unavailable(f"Sign-in with GitHub is misconfigured: {token.error}.", code="oauth_wrong")
        if token.access_token is None:
            raise Forbidden("GitHub did not confirm who you are. Please try again.", code="github_refused")
        headers = GitHubAuth(token.access_token).headers
        user = await self._request("GET", f"{self.api_url}/user", GitHubUser, headers=headers)
        return user, await self._membership(organisation, headers) if organisation else None

    async def _membership(self, organisation: str, headers: Mapping[str, str]) -> OrganisationMembership:
        no_member = Forbidden(
            f"GitHub does not confirm that you are a member of {organisation}. An owner of the organisation may have "
            "to approve this registry's GitHub app.",
            code="not_a_member",
        )
        url = f"{self.api_url}/user/memberships/orgs/{quote(organisation, safe='')}"
        found = await self._request("GET", url, _Membership, refusals={403: no_member, 404: no_member}, headers=headers)
        if found.state != "active":
            raise no_member
        return OrganisationMembership(found.organization.id, found.organization.login, found.role)

    async def recognise(self, token: str) -> GitHubUser:
        """Return the person for whom GitHub issued this token to this very app.

        `/user` accepts any token, so the operator of another app could sign in as each of that app's users.
        """
        foreign = Unauthenticated(
            "GitHub does not know this token, or did not issue it to the app of this registry.",
            code="github_token_refused",
        )
        wrong = Unavailable("Sign-in with GitHub is misconfigured: status 401 for the app.", code="oauth_wrong")
        checked = await self._request(
            "POST",
            f"{self.api_url}/applications/{quote(self.client_id, safe='')}/token",
            _TokenCheck,
            refusals={401: wrong, 404: foreign, 422: foreign},
            headers={"Authorization": aiohttp.encode_basic_auth(self.client_id, self.client_secret)},
            json={"access_token": token},
        )
        if checked.user is None:
            raise foreign
        return checked.user

    async def _request(
        self,
        method: str,
        url: str,
        kind: type[T],
        *,
        refusals: Mapping[int, AssayError] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> T:
        accepting = {"Accept": "application/json", **headers}
        timeout = aiohttp.ClientTimeout(total=self.timeout_seconds)
        try:
            async with self.session.request(
                method, url, headers=accepting, timeout=timeout, allow_redirects=False, **options
            ) as response:
                if response.status in refusals:
                    raise refusals[response.status]
                if response.status != 200:
                    raise Unavailable(
                        f"GitHub answered a sign-in request with status {response.status}.", code="github_unavailable"
                    )
                return msgspec.json.decode(await response.read(), type=kind)
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            # Drop the cause: the request or the response may contain a token.
            raise Unavailable("GitHub did not answer a sign-in request.", code="github_unavailable") from None
