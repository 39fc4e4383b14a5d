"""GitHub's OAuth as we use it, and as the GitHub on loopback imitates it."""

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
    """An OAuth app; `Alice` sits at the browser."""
    github.add_oauth_app("client", "secret", HERE)
    github.visit(7, "Alice")
    async with aiohttp.ClientSession(headers={"User-Agent": "test"}) as session:
        urls = github_server.base_url
        yield GitHubSignIn(session, f"{urls}/web", f"{urls}/api", "client", "secret", timeout_seconds=5)


async def come_back(sign_in: GitHubSignIn, redirect_uri: str = HERE) -> dict[str, str]:
    """What GitHub sends back through the browser."""
    url = sign_in.authorize_url(redirect_uri=redirect_uri, state="state", verifier=VERIFIER)
    async with sign_in.session.get(url, allow_redirects=False) as answer:
        assert answer.status == 302
        location = answer.headers["Location"]
    assert location.startswith(f"{HERE}?")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


async def test_a_code_tells_who_somebody_is_once(sign_in: GitHubSignIn) -> None:
    """The same code a second time is refused, with status 200 on the wire."""
    said = await come_back(sign_in)
    assert set(said) == {"code", "state"}
    proof = {"code": said["code"], "verifier": VERIFIER, "redirect_uri": HERE}
    assert await sign_in.identify(**proof) == GitHubUser(7, "Alice")
    with pytest.raises(Forbidden) as refused:
        await sign_in.identify(**proof)
    assert refused.value.code == "github_refused"


async def test_a_wrong_verifier_or_redirect_is_refused(sign_in: GitHubSignIn) -> None:
    """PKCE, and the address that the code was made for."""
    said = await come_back(sign_in)
    with pytest.raises(Forbidden):
        await sign_in.identify(code=said["code"], verifier="x" * 43, redirect_uri=HERE)
    said = await come_back(sign_in)
    with pytest.raises(Unavailable, match="redirect_uri_mismatch"):
        await sign_in.identify(code=said["code"], verifier=VERIFIER, redirect_uri=f"{HERE}/else")


async def test_an_address_that_is_not_registered_gets_no_code(sign_in: GitHubSignIn) -> None:
    """The person is sent to the registered address, with the reason."""
    said = await come_back(sign_in, "https://evil.example/auth/github/callback")
    assert (said["error"], "code" in said) == ("redirect_uri_mismatch", False)


async def test_a_slow_github_is_not_waited_for(sign_in: GitHubSignIn, github: FakeGitHub) -> None:
    """A person gets an answer; the text has nothing of what was sent."""
    said = await come_back(sign_in)
    github.latency("token", 60)
    impatient = GitHubSignIn(
        sign_in.session, sign_in.web_url, sign_in.api_url, "client", "secret", timeout_seconds=0.05
    )
    with pytest.raises(Unavailable) as slow:
        await impatient.identify(code=said["code"], verifier=VERIFIER, redirect_uri=HERE)
    assert slow.value.code == "github_unavailable"
    assert said["code"] not in str(slow.value)


async def test_who_is_asked_for_without_a_token_is_nobody(sign_in: GitHubSignIn) -> None:
    """The imitation of `/user` answers only to a token of a person, as GitHub's does."""
    async with sign_in.session.get(f"{sign_in.api_url}/user") as answer:
        assert answer.status == 401
    assert "secret" not in repr(sign_in).replace("client_secret", "")
