"""Signing in with GitHub: the page that asks, the exchange of its code, and whose and for whom a token is."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.fake_github.answer import (
    HTML_TYPE,
    NOT_FOUND,
    TEXT_NOT_FOUND,
    Answer,
    json_answer,
    problem,
    text_answer,
)
from tests.support.fake_github.request import Request

CODE_SECONDS = 600
_DOCS = "https://docs.github.com/apps/managing-oauth-apps"
_EXCHANGE_DOCS = f"{_DOCS}/troubleshooting-oauth-app-access-token-request-errors"
_AUTHORIZE_DOCS = f"{_DOCS}/troubleshooting-authorization-request-errors"
REQUIRES_AUTHENTICATION = problem(401, "Requires authentication")


@dataclass(frozen=True)
class OAuthApp:
    """An application that was registered with GitHub."""

    client_id: str
    client_secret: str
    callback_url: str


@dataclass(frozen=True)
class Person:
    """Somebody with an account there."""

    id: int
    login: str


@dataclass(frozen=True)
class _Grant:
    """What a code stands for until it is used."""

    app: OAuthApp
    person: Person
    redirect_uri: str
    challenge: str | None
    until: float


@dataclass
class OAuth:
    """Applications, the person at the browser, and what was granted."""

    apps: dict[str, OAuthApp] = field(default_factory=dict)
    visitor: Person | None = None
    """Who is signed in at GitHub in the browser that comes."""
    visitor_denies: bool = False
    given: dict[str, tuple[OAuthApp, Person]] = field(default_factory=dict)
    """By token: to which application, and of whom."""
    _grants: dict[str, _Grant] = field(default_factory=dict)

    def authorize(self, request: Request, now: float) -> Answer:
        """The page that asks, as a browser sees it: somebody who is signed in presses the button at once."""
        asked = request.parameters()
        app = self.apps.get(asked.get("client_id", ""))
        if app is None:
            return TEXT_NOT_FOUND
        redirect_uri = asked.get("redirect_uri", app.callback_url)
        if not _is_below(redirect_uri, app.callback_url):
            return _back(app.callback_url, asked, error="redirect_uri_mismatch", error_uri=_AUTHORIZE_DOCS)
        if asked.get("code_challenge_method", "S256") != "S256":
            return _back(redirect_uri, asked, error="invalid_request", error_uri=_AUTHORIZE_DOCS)
        if self.visitor is None:
            return Answer(200, b"<!doctype html><title>Sign in to GitHub</title>", (HTML_TYPE,))
        if self.visitor_denies:
            said = "The user has denied your application access."
            return _back(redirect_uri, asked, error="access_denied", error_description=said, error_uri=_AUTHORIZE_DOCS)
        code = secrets.token_hex(10)
        challenge = asked.get("code_challenge")
        self._grants[code] = _Grant(app, self.visitor, redirect_uri, challenge, now + CODE_SECONDS)
        return _back(redirect_uri, asked, code=code)

    def exchange(self, request: Request, now: float) -> tuple[Answer, str | None]:
        """A token for a code, once. A refusal has status 200, as GitHub's."""
        if request.method != "POST":
            return TEXT_NOT_FOUND, None
        form = {name: values[-1] for name, values in parse_qs(request.body.decode()).items()}
        app = self.apps.get(form.get("client_id", ""))
        if app is None or form.get("client_secret") != app.client_secret:
            return _refuse(request, "incorrect_client_credentials"), None
        grant = self._grants.pop(form.get("code", ""), None)
        if grant is None or grant.app != app or grant.until < now or not _proves(form.get("code_verifier"), grant):
            return _refuse(request, "bad_verification_code"), None
        if form.get("redirect_uri", grant.redirect_uri) != grant.redirect_uri:
            return _refuse(request, "redirect_uri_mismatch"), None
        token = self.give(app, grant.person)
        return _say(request, {"access_token": token, "token_type": "bearer", "scope": ""}), token

    def give(self, app: OAuthApp, person: Person) -> str:
        """A new token."""
        token = f"gho_{secrets.token_hex(18)}"
        self.given[token] = app, person
        return token

    def user(self, token: str | None) -> Answer:
        """`/user`: who the token is of, whichever application it was given to."""
        if token not in self.given:
            return REQUIRES_AUTHENTICATION
        return json_answer(200, _user(self.given[token][1]))

    def check(self, request: Request, is_good: Callable[[str], bool]) -> Answer:
        """`POST /applications/{client_id}/token`: for an application that proves itself, of its own tokens."""
        app = self.apps.get(request.parts[2])
        if app is None or request.token != _basic(app):
            return REQUIRES_AUTHENTICATION
        token = str(json.loads(request.body).get("access_token", ""))
        to, person = self.given.get(token, (None, None))
        if to != app or person is None or not is_good(token):
            return NOT_FOUND
        said = {"id": 1, "token": token, "scopes": [], "app": {"client_id": app.client_id}, "user": _user(person)}
        return json_answer(200, said)


def _user(person: Person) -> dict[str, object]:
    return {"login": person.login, "id": person.id, "type": "User", "site_admin": False}


def _basic(app: OAuthApp) -> str:
    return f"Basic {base64.b64encode(f'{app.client_id}:{app.client_secret}'.encode()).decode()}"


def _back(redirect_uri: str, asked: dict[str, str], **answer: str) -> Answer:
    said = answer | ({"state": asked["state"]} if "state" in asked else {})
    location = f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(said)}"
    return text_answer(302, "", (b"location", location.encode()))


def _refuse(request: Request, error: str) -> Answer:
    uri = f"{_EXCHANGE_DOCS}/#{error.replace('_', '-')}"
    return _say(request, {"error": error, "error_description": "Refused on purpose.", "error_uri": uri})


def _say(request: Request, said: dict[str, str]) -> Answer:
    """In JSON only for who asks for it."""
    if b"json" in request.accept:
        return json_answer(200, said)
    return Answer(200, urlencode(said).encode(), ((b"content-type", b"application/x-www-form-urlencoded"),))


def _proves(verifier: str | None, grant: _Grant) -> bool:
    if grant.challenge is None:
        return True
    digest = hashlib.sha256((verifier or "").encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == grant.challenge


def _is_below(redirect_uri: str, callback_url: str) -> bool:
    """Host and port must be the registered ones, the path the same or below; loopback ports may differ."""
    given, registered = urlsplit(redirect_uri), urlsplit(callback_url)
    is_same_host = given.scheme == registered.scheme and (
        given.netloc == registered.netloc or given.hostname == registered.hostname == "127.0.0.1"
    )
    return is_same_host and f"{given.path}/".startswith(f"{registered.path.rstrip('/')}/")
