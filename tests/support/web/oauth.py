"""Sign-in with a GitHub on loopback."""

from tests.support.fake_github import FakeGitHub
from tests.support.fake_github.calls import Call

CLIENT_ID, CLIENT_SECRET = "Iv1.0123456789abcdef", "the-secret-of-the-oauth-app"
CALLBACK = "http://127.0.0.1:8000/auth/github/callback"


def calls(github: FakeGitHub, route: str) -> list[Call]:
    """Return the requests to GitHub."""
    return [call for call in github.calls if call.route == route]
