"""Ways to get a token of a registry: a password, or a GitHub token."""

import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import aiohttp

from assay.cli.registry.account import ACCOUNT
from assay.cli.registry.client import TIMEOUT, Registry
from assay.cli.registry.errors import read_object
from assay.cli.registry.responses import RegistryModel, read_response
from assay.model.account import Scope
from assay.model.errors import AssayError

SIGN_IN, SIGN_OUT = "/auth/sign-in", "/auth/sign-out"
EXCHANGE = "/api/v1/auth/github/exchange-for-vsk-token"
# Writes with a session cookie must state that they do not come from a page of another site.
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
MAX_LABEL = 100


class CreatedTokenResponse(RegistryModel, frozen=True):
    token: str

    def __repr__(self) -> str:
        return "CreatedTokenResponse(***)"


async def token_for_password(registry: Registry, login: str, password: str, scopes: Sequence[Scope]) -> str:
    """Sign in, create a token with these scopes, and sign out again. Raises Unauthenticated for a wrong password."""
    async with _session(registry, login, password) as cookies:
        body = {"label": f"assay login on {socket.gethostname()}"[:MAX_LABEL], "scopes": list(map(str, scopes))}
        return await _created_token(registry, f"{ACCOUNT}/tokens", body, cookies)


async def token_for_github_token(registry: Registry, github_token: str) -> str:
    """Exchange a token that GitHub issued to the app of the registry. Raises Unauthenticated if it is not accepted."""
    return await _created_token(registry, EXCHANGE, {"githubToken": github_token}, {})


@asynccontextmanager
async def _session(registry: Registry, login: str, password: str) -> AsyncIterator[dict[str, str]]:
    """Yield the cookies of a session, which ends with the block."""
    body = {"login": login, "password": password}
    async with registry.open_response("POST", SIGN_IN, timeout=TIMEOUT, headers=SAME_ORIGIN, json=body) as response:
        cookies = _session_cookies(response)
    try:
        yield cookies
    finally:
        # The session ends by itself if this fails.
        with suppress(AssayError):
            options = {"timeout": TIMEOUT, "headers": SAME_ORIGIN, "cookies": cookies}
            async with registry.open_response("POST", SIGN_OUT, **options):
                pass


def _session_cookies(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the cookies that are sent to every path; the refresh token is not needed."""
    return {name: cookie.value for name, cookie in response.cookies.items() if cookie["path"] == "/"}


async def _created_token(registry: Registry, path: str, body: Mapping[str, object], cookies: Mapping[str, str]) -> str:
    """Return the token that a route creates. The request is not repeated, because each one creates a token."""
    options = {"timeout": TIMEOUT, "headers": SAME_ORIGIN, "cookies": cookies}
    async with registry.open_response("POST", path, json=body, **options) as response:
        return read_response(CreatedTokenResponse, await read_object(response)).token
