"""Sign-in with GitHub: the consent page, the exchange of its code, and checks of tokens."""

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
    """An OAuth application registered with GitHub."""

    client_id: str
    client_secret: str
    callback_url: str


@dataclass(frozen=True)
class Person:
    """A GitHub account."""

    id: int
    login: str


@dataclass(frozen=True)
class _Grant:
    """The authorisation behind a code that has not been exchanged."""

    app: OAuthApp
    person: Person
    redirect_uri: str
    challenge: str | None
    until: float


@dataclass
class OAuth:
    """Applications, the person in the browser, and issued tokens."""

    apps: dict[str, OAuthApp] = field(default_factory=dict)
    visitor: Person | None = None
    """The person who is signed in to GitHub in the browser."""
    visitor_denies: bool = False
    issued: dict[str, tuple[OAuthApp, Person]] = field(default_factory=dict)
    """By token: its application and person."""
    memberships: dict[tuple[str, int], str] = field(default_factory=dict)
    """State of memberships (`active`, `pending`) by organisation in lower case and person id."""
    _grants: dict[str, _Grant] = field(default_factory=dict)

    def authorize(self, request: Request, now: float) -> Answer:
        """Handle the consent page; a person who is signed in consents immediately."""
        query = request.parameters()
        app = self.apps.get(query.get("client_id", ""))
        if app is None:
            return TEXT_NOT_FOUND
        redirect_uri = query.get("redirect_uri", app.callback_url)
        if not _is_below(redirect_uri, app.callback_url):
            return _redirect_back(app.callback_url, query, error="redirect_uri_mismatch", error_uri=_AUTHORIZE_DOCS)
        if query.get("code_challenge_method", "S256") != "S256":
            return _redirect_back(redirect_uri, query, error="invalid_request", error_uri=_AUTHORIZE_DOCS)
        if self.visitor is None:
            return Answer(200, b"<!doctype html><title>Sign in to GitHub</title>", (HTML_TYPE,))
        if self.visitor_denies:
            fields = "The user has denied your application access."
            return _redirect_back(
                redirect_uri, query, error="access_denied", error_description=fields, error_uri=_AUTHORIZE_DOCS
            )
        code = secrets.token_hex(10)
        challenge = query.get("code_challenge")
        self._grants[code] = _Grant(app, self.visitor, redirect_uri, challenge, now + CODE_SECONDS)
        return _redirect_back(redirect_uri, query, code=code)

    def exchange(self, request: Request, now: float) -> tuple[Answer, str | None]:
        """Exchange a code for a token, once. Refusals have status 200, as on GitHub."""
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
        token = self.issue_token(app, grant.person)
        return _respond(request, {"access_token": token, "token_type": "bearer", "scope": ""}), token

    def issue_token(self, app: OAuthApp, person: Person) -> str:
        token = f"gho_{secrets.token_hex(18)}"
        self.issued[token] = app, person
        return token

    def user(self, token: str | None) -> Answer:
        """Handle `/user`, which accepts tokens of any application."""
        if token not in self.issued:
            return REQUIRES_AUTHENTICATION
        return json_answer(200, _user(self.issued[token][1]))

    def membership(self, token: str | None, organisation: str, organisation_id: int) -> Answer:
        """Handle `/user/memberships/orgs/{org}`; 404 for people who are not members."""
        if token not in self.issued:
            return REQUIRES_AUTHENTICATION
        state = self.memberships.get((organisation.lower(), self.issued[token][1].id))
        if state is None:
            return NOT_FOUND
        fields = {"state": state, "role": "member", "organization": {"id": organisation_id, "login": organisation}}
        return json_answer(200, fields)

    def check(self, request: Request, is_good: Callable[[str], bool]) -> Answer:
        """Handle `POST /applications/{client_id}/token`: an authenticated application checks one of its own tokens."""
        app = self.apps.get(request.parts[2])
        if app is None or request.token != _basic(app):
            return REQUIRES_AUTHENTICATION
        token = str(json.loads(request.body).get("access_token", ""))
        to, person = self.issued.get(token, (None, None))
        if to != app or person is None or not is_good(token):
            return NOT_FOUND
        fields = {"id": 1, "token": token, "scopes": [], "app": {"client_id": app.client_id}, "user": _user(person)}
        return json_answer(200, fields)


def _user(person: Person) -> dict[str, object]:
    return {"login": person.login, "id": person.id, "type": "User", "site_admin": False}


def _basic(app: OAuthApp) -> str:
    return f"Basic {base64.b64encode(f'{app.client_id}:{app.client_secret}'.encode()).decode()}"


def _redirect_back(redirect_uri: str, query: dict[str, str], **answer: str) -> Answer:
    fields = answer | ({"state": query["state"]} if "state" in query else {})
    location = f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(fields)}"
    return text_answer(302, "", (b"location", location.encode()))


def _refuse(request: Request, error: str) -> Answer:
    uri = f"{_EXCHANGE_DOCS}/#{error.replace('_', '-')}"
    return _respond(request, {"error": error, "error_description": "Refused on purpose.", "error_uri": uri})


def _respond(request: Request, fields: dict[str, str]) -> Answer:
    """Respond with JSON if the client accepts it, otherwise with a form."""
    if b"json" in request.accept:
        return json_answer(200, fields)
    return Answer(200, urlencode(fields).encode(), ((b"content-type", b"application/x-www-form-urlencoded"),))


def _proves(verifier: str | None, grant: _Grant) -> bool:
    if grant.challenge is None:
        return True
    digest = hashlib.sha256((verifier or "").encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == grant.challenge


def _is_below(redirect_uri: str, callback_url: str) -> bool:
    """Check host, port and path prefix against the registered URL; loopback ports may differ."""
    requested, registered = urlsplit(redirect_uri), urlsplit(callback_url)
    is_same_host = requested.scheme == registered.scheme and (
        requested.netloc == registered.netloc or requested.hostname == registered.hostname == "127.0.0.1"
    )
    return is_same_host and f"{requested.path}/".startswith(f"{registered.path.rstrip('/')}/")
