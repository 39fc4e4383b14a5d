"""GitHub OAuth, real client against the fake."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from assay.github.oauth import GitHubSignIn, GitHubUser
from assay.model.errors import Forbidden, Unavailable
from tests.support.fake_github import FakeGitHub, FakeServer

HERE = "http://127.0.0.1:8000/auth/github/callback"
VERIFIER = "a-verifier-that-is-as-long-as-forty-three-characters"


@pytest.fixture
async def sign_in(github: FakeGitHub, github_server: FakeServer) -> AsyncIterator[GitHubSignIn]:
    """Return an OAuth app with `Alice` at the browser."""
    github.add_oauth_app("client", "secret", HERE)
    github.sign_in_as(7, "Alice")
    async with aiohttp.ClientSession(headers={"User-Agent": "test"}) as session:
        urls = github_server.base_url
        yield GitHubSignIn(session, f"{urls}/web", f"{urls}/api", "client", "secret", timeout_seconds=5)


async def come_back(sign_in: GitHubSignIn, redirect_uri: str = HERE) -> dict[str, str]:
    """Return the parameters GitHub sends back."""
    url = sign_in.authorize_url(redirect_uri=redirect_uri, state="state", verifier=VERIFIER)
    async with sign_in.session.get(url, allow_redirects=False) as answer:
        assert answer.status == 302
        location = answer.headers["Location"]
    assert location.startswith(f"{HERE}?")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


async def test_code_can_be_used_once(sign_in: GitHubSignIn) -> None:
    said = await come_back(sign_in)
    assert set(said) == {"code", "state"}
    proof = {"code": said["code"], "verifier": VERIFIER, "redirect_uri": HERE}
    assert await sign_in.identify(**proof) == (GitHubUser(7, "Alice"), None)
    with pytest.raises(Forbidden) as refused:
        await sign_in.identify(**proof)
    assert refused.value.code == "github_refused"


async def test_wrong_verifier_or_redirect_is_rejected(sign_in: GitHubSignIn) -> None:
    said = await come_back(sign_in)
    with pytest.raises(Forbidden):
        await sign_in.identify(code=said["code"], verifier="x" * 43, redirect_uri=HERE)
    said = await come_back(sign_in)
    with pytest.raises(Unavailable, match="redirect_uri_mismatch"):
        await sign_in.identify(code=said["code"], verifier=VERIFIER, redirect_uri=f"{HERE}/else")


async def test_unregistered_redirect_gets_no_code(sign_in: GitHubSignIn) -> None:
    said = await come_back(sign_in, "https://evil.example/auth/github/callback")
    assert (said["error"], "code" in said) == ("redirect_uri_mismatch", False)


async def test_slow_github_times_out(sign_in: GitHubSignIn, github: FakeGitHub) -> None:
    """the error contains nothing that was sent."""
    said = await come_back(sign_in)
    github.latency("token", 60)
    impatient = GitHubSignIn(
        sign_in.session, sign_in.web_url, sign_in.api_url, "client", "secret", timeout_seconds=0.05
    )
    with pytest.raises(Unavailable) as slow:
        await impatient.identify(code=said["code"], verifier=VERIFIER, redirect_uri=HERE)
    assert slow.value.code == "github_unavailable"
    assert said["code"] not in str(slow.value)


async def test_user_requires_a_token(sign_in: GitHubSignIn) -> None:
    async with sign_in.session.get(f"{sign_in.api_url}/user") as answer:
        assert answer.status == 401
    assert "secret" not in repr(sign_in).replace("client_secret", "")
