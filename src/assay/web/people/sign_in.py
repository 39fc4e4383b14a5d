"""Signing in: with a password, with GitHub, or by exchanging a GitHub token."""

import hmac
import secrets
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import JSONBody, QueryParameter
from litestar.response import Redirect
from litestar.status_codes import HTTP_200_OK, HTTP_303_SEE_OTHER

from assay.accounts.claims import claim_organisation
from assay.accounts.rate_limit import throttle_sign_in
from assay.accounts.sessions import SessionTokens
from assay.accounts.sign_in import Attempt, find_or_create_github_account, sign_in_with_github, sign_in_with_password
from assay.accounts.signed_claims import Claims, ClaimsPurpose, is_expired
from assay.accounts.tokens import exchange_token
from assay.app.app import App, open_claims_signer, open_github_sign_in
from assay.github.oauth import GitHubSignIn
from assay.model.errors import Forbidden, Invalid, NotFound
from assay.web.http.access import UNIDENTIFIED
from assay.web.http.caller import EXCHANGE_PATH
from assay.web.http.context import Assay
from assay.web.http.cookies import (
    GITHUB_PATH,
    GITHUB_SECONDS,
    github_cookie,
    github_token,
    refuse_cross_site,
    session_cookies,
)
from assay.web.http.errors import problems
from assay.web.http.headers import NO_STORE
from assay.web.http.limits import address_of, sign_in_limits
from assay.web.http.redirects import HOME, LONGEST, local_path
from assay.web.people.json import ExchangeBody, ExchangedView, MeView, SignInBody, present_exchanged, present_me

LARGEST_BYTES = 16 * 1024


@post(
    "/auth/sign-in",
    summary="Sign in with a password",
    tags=["accounts"],
    opt=UNIDENTIFIED,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 413, 415, 429, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def sign_in(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[SignInBody]) -> Response[MeView]:
    """Start a session and set its two cookies.

    A wrong password and an unknown login give the same response.
    """
    session = await try_password(assay, request, data)
    return Response(present_me(session), cookies=session_cookies(session, assay.settings))


async def try_password(assay: App, request: Request[Any, Any, Any], body: SignInBody) -> SessionTokens:
    """Sign in with a password; used by the API and the sign-in page."""
    # Prevent login CSRF: another site must not sign its visitor in to an account of its choice.
    refuse_cross_site(request)
    address = address_of(request)
    attempt = Attempt(body.login, body.password, address, request.headers.get("user-agent"))
    signer, limits = open_claims_signer(assay.settings), sign_in_limits(assay.settings)
    return await sign_in_with_password(assay.store, attempt, limits, signer, assay.clock.now())


CALLBACK_PATH = f"{GITHUB_PATH}/callback"
# The form of a GitHub login.
ORGANISATION = r"^[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?$"
OAuthParameter = Annotated[str | None, QueryParameter(max_length=LONGEST)]


class PendingSignIn(Claims, frozen=True, kw_only=True):
    """State of a GitHub sign-in, kept in a signed cookie while the user is at GitHub; nothing is stored here."""

    state: str
    verifier: str
    onward: str
    # The organisation whose namespace is claimed with this sign-in.
    claim: str | None = None


@get(GITHUB_PATH, opt=UNIDENTIFIED, include_in_schema=False)
async def start_github_sign_in(
    assay: Assay,
    next_path: Annotated[str, QueryParameter(name="next", max_length=LONGEST)] = HOME,
    claim: Annotated[str | None, QueryParameter(pattern=ORGANISATION)] = None,
) -> Redirect:
    """Redirect to GitHub. With `claim`, also ask GitHub about the membership in that organisation."""
    github = github_of(assay)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    pending = {"state": state, "verifier": verifier, "onward": local_path(next_path), "claim": claim}
    token = open_claims_signer(assay.settings).sign(ClaimsPurpose.GITHUB, pending, assay.clock.now(), GITHUB_SECONDS)
    scope = "read:org" if claim else None
    url = github.authorize_url(redirect_uri=_callback_url(assay), state=state, verifier=verifier, scope=scope)
    cookie = github_cookie(token, assay.settings)
    return Redirect(url, status_code=HTTP_303_SEE_OTHER, cookies=[cookie])


@get(CALLBACK_PATH, opt=UNIDENTIFIED, include_in_schema=False)
async def finish_github_sign_in(
    assay: Assay,
    request: Request[Any, Any, Any],
    code: OAuthParameter = None,
    oauth_state: Annotated[str, QueryParameter(name="state", max_length=LONGEST)] = "",
    error: OAuthParameter = None,
    error_description: OAuthParameter = None,
    error_uri: OAuthParameter = None,
    iss: OAuthParameter = None,
) -> Redirect:
    """Handle the redirect from GitHub, with a code or an error; its other parameters are accepted and ignored."""
    github = github_of(assay)
    pending = _read_pending(assay, request, oauth_state)
    if code is None:
        denied = error == "access_denied"
        message = "You did not authorise the sign-in at GitHub." if denied else "GitHub refused the sign-in."
        raise Forbidden(message, code="github_refused")
    user, membership = await github.identify(
        code=code, verifier=pending.verifier, redirect_uri=_callback_url(assay), organisation=pending.claim
    )
    async with assay.store.begin() as db:
        session = await sign_in_with_github(
            db,
            user,
            assay.settings.admin_logins,
            open_claims_signer(assay.settings),
            assay.clock.now(),
            request.headers.get("user-agent"),
        )
        if membership is not None:
            await claim_organisation(db, session.account, membership, assay.clock.now())
    cookies = [*session_cookies(session, assay.settings), github_cookie("", assay.settings)]
    return Redirect(pending.onward, status_code=HTTP_303_SEE_OTHER, cookies=cookies)


def github_of(assay: App) -> GitHubSignIn:
    """Return the OAuth app of this registry; NotFound if it has none."""
    github = open_github_sign_in(assay)
    if github is None:
        raise NotFound("Signing in with GitHub is not configured in this registry.", code="oauth_off")
    return github


def _read_pending(assay: App, request: Request[Any, Any, Any], oauth_state: str) -> PendingSignIn:
    """Return the sign-in that this browser started.

    The state must match the cookie, or an attacker could sign a visitor in to the attacker's account.
    """
    token, now = github_token(request, assay.settings), assay.clock.now()
    signer = open_claims_signer(assay.settings)
    pending = signer.read(ClaimsPurpose.GITHUB, token, PendingSignIn, now) if token else None
    is_same = pending is not None and hmac.compare_digest(pending.state.encode(), oauth_state.encode())
    if pending is None or not is_same or is_expired(pending, now):
        raise Invalid(
            "This sign-in was not started in this browser, or it took too long. Please try again.",
            code="bad_oauth_state",
        )
    return pending


def _callback_url(assay: App) -> str:
    return f"{assay.settings.base_url}{CALLBACK_PATH}"


@post(
    EXCHANGE_PATH,
    summary="Exchange a GitHub token",
    tags=["accounts"],
    opt=UNIDENTIFIED,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 429, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def exchange(
    assay: Assay, request: Request[Any, Any, Any], data: JSONBody[ExchangeBody]
) -> Response[ExchangedView]:
    """Create a token of this registry for a GitHub token, which is not stored.

    Only tokens issued to this registry's own GitHub app are accepted: with a token issued to another app, that app
    could impersonate its users.
    """
    github, now = github_of(assay), assay.clock.now()
    # The request names no login, so attempts are counted per IP address.
    await throttle_sign_in(assay.store, "", address_of(request), sign_in_limits(assay.settings), now)
    user = await github.recognise(data.github_token)
    async with assay.store.begin() as db:
        account = await find_or_create_github_account(db, user, assay.settings.admin_logins)
        created = await exchange_token(db, account, now)
    return Response(present_exchanged(created), headers={"Cache-Control": NO_STORE})
