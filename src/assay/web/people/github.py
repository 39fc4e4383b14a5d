"""Sign in with GitHub. What must be known when a person comes back travels with them, signed; nothing is kept here."""

import hmac
import secrets
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import QueryParameter
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.accounts.sign_in import sign_in_with_github
from assay.accounts.signed_claims import Claims, Purpose, is_over
from assay.app.app import App
from assay.app.sign_in import open_github_sign_in, open_seal
from assay.github.oauth import GitHubSignIn
from assay.model.errors import Forbidden, Invalid, NotFound
from assay.web.http.access import PUBLIC
from assay.web.http.cookies import GITHUB_PATH, GITHUB_SECONDS, github_cookie, github_token, session_cookies
from assay.web.http.dependencies import Assay
from assay.web.http.redirects import HOME, LONGEST, local_path

CALLBACK_PATH = f"{GITHUB_PATH}/callback"
Word = Annotated[str | None, QueryParameter(max_length=LONGEST)]


class Begun(Claims, frozen=True, kw_only=True):
    """What was noted when the sign-in began."""

    state: str
    verifier: str
    onward: str


@get(GITHUB_PATH, opt=PUBLIC, include_in_schema=False)
async def begin(
    assay: Assay, onward: Annotated[str, QueryParameter(name="next", max_length=LONGEST)] = HOME
) -> Redirect:
    """Off to GitHub."""
    github = github_of(assay)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    begun = {"state": state, "verifier": verifier, "onward": local_path(onward)}
    token = open_seal(assay.settings).sign(Purpose.GITHUB, begun, assay.clock.now(), GITHUB_SECONDS)
    url = github.authorize_url(redirect_uri=_callback_url(assay), state=state, verifier=verifier)
    cookie = github_cookie(token, assay.settings)
    return Redirect(url, status_code=HTTP_303_SEE_OTHER, cookies=[cookie])


@get(CALLBACK_PATH, opt=PUBLIC, include_in_schema=False)
async def come_back(
    assay: Assay,
    request: Request[Any, Any, Any],
    code: Word = None,
    given_state: Annotated[str, QueryParameter(name="state", max_length=LONGEST)] = "",
    error: Word = None,
    error_description: Word = None,
    error_uri: Word = None,
    iss: Word = None,
) -> Redirect:
    """Back from GitHub, with a code or a refusal. What else it may send along is known, and not needed."""
    github = github_of(assay)
    begun = _begun(assay, request, given_state)
    if code is None:
        denied = error == "access_denied"
        raise Forbidden("You did not allow it at GitHub." if denied else "GitHub refused.", code="github_refused")
    user = await github.identify(code=code, verifier=begun.verifier, redirect_uri=_callback_url(assay))
    async with assay.store.begin() as db:
        granted = await sign_in_with_github(
            db, user, assay.settings.admin_logins, open_seal(assay.settings), assay.clock.now()
        )
    cookies = [*session_cookies(granted, assay.settings), github_cookie("", assay.settings)]
    return Redirect(begun.onward, status_code=HTTP_303_SEE_OTHER, cookies=cookies)


def github_of(assay: App) -> GitHubSignIn:
    """The OAuth app of this registry; NotFound if it has none."""
    github = open_github_sign_in(assay)
    if github is None:
        raise NotFound("Sign-in with GitHub is not set up in this registry.", code="oauth_off")
    return github


def _begun(assay: App, request: Request[Any, Any, Any], given_state: str) -> Begun:
    """How this sign-in began, in this very browser: otherwise somebody could be signed in as somebody else."""
    token, now = github_token(request, assay.settings), assay.clock.now()
    begun = open_seal(assay.settings).read(Purpose.GITHUB, token, Begun, now) if token else None
    is_same = begun is not None and hmac.compare_digest(begun.state.encode(), given_state.encode())
    if begun is None or not is_same or is_over(begun, now):
        raise Invalid("This sign-in did not begin here, or took too long. Please try again.", code="bad_oauth_state")
    return begun


def _callback_url(assay: App) -> str:
    return f"{assay.settings.base_url}{CALLBACK_PATH}"
