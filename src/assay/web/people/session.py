"""The session of a caller: read, refresh, and sign out."""

from typing import Annotated, Any

from litestar import Request, Response, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import QueryParameter
from litestar.response import Redirect
from litestar.status_codes import HTTP_200_OK, HTTP_303_SEE_OTHER, HTTP_307_TEMPORARY_REDIRECT

from assay.accounts.sessions import SessionTokens, end_session, refresh_session
from assay.accounts.tokens import sign_out_everywhere
from assay.app.app import App, open_claims_signer
from assay.model.errors import Unauthenticated
from assay.web.http.access import ACCOUNT, PUBLIC, PUBLISHING, REFRESH, UNIDENTIFIED
from assay.web.http.caller import caller_of, session_of
from assay.web.http.context import Assay, CalledBy
from assay.web.http.cookies import (
    REFRESH_PATH,
    expired_session_cookies,
    refresh_token,
    require_same_origin,
    session_cookies,
    session_token,
)
from assay.web.http.errors import problems
from assay.web.http.redirects import HOME, LONGEST, ask_to_sign_in, local_path, wants_page
from assay.web.people.json import SIGNED_OUT, MeView, OkView, present_me

NextPath = Annotated[
    str | None, QueryParameter(name="next", max_length=LONGEST, description="The local path to redirect to.")
]
AnyRequest = Request[Any, Any, Any]


@get("/auth/me", summary="Get the signed-in user", tags=["accounts"], opt=PUBLIC, responses=problems(400, 503))
async def me(request: AnyRequest) -> MeView:
    """Return the login and role of the caller. Sessions are read from the cookie, without the database."""
    caller = caller_of(request)
    if not caller.is_signed_in:
        return SIGNED_OUT
    return MeView(signed_in=True, login=caller.name, role=caller.role)


@get(REFRESH_PATH, opt=UNIDENTIFIED, include_in_schema=False)
async def refresh_page(assay: Assay, request: AnyRequest, next_path: NextPath = None) -> Redirect:
    """Refresh the session of a page whose access token has expired, or clear its cookies, and redirect back.

    Safe as a GET request that other sites can link to, because it changes nothing but tokens.
    """
    session = await _refresh(assay, request)
    cookies = session_cookies(session, assay.settings) if session else _clear_cookies(request, assay)
    return Redirect(local_path(next_path or HOME), status_code=HTTP_303_SEE_OTHER, cookies=cookies)


@post(
    REFRESH_PATH,
    summary="Refresh the session",
    tags=["accounts"],
    opt=REFRESH,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 503),
)
async def refresh(assay: Assay, request: AnyRequest, next_path: NextPath = None) -> Response[Any]:
    """Set a new access token and a new refresh token as cookies.

    With `next`, redirects (307) to that path, so that a form sent with an expired session is submitted again.
    """
    require_same_origin(request)
    session = await _refresh(assay, request)
    if session is None and wants_page(request):
        return ask_to_sign_in(request, is_refreshable=False)
    if session is None:
        raise Unauthenticated("The session has ended. Sign in again.", code="session_over")
    cookies = session_cookies(session, assay.settings)
    if next_path is not None:
        return Redirect(local_path(next_path), status_code=HTTP_307_TEMPORARY_REDIRECT, cookies=cookies)
    return Response(present_me(session), cookies=cookies)


@post(
    "/auth/sign-out",
    summary="Sign out",
    tags=["accounts"],
    opt=UNIDENTIFIED,
    status_code=HTTP_200_OK,
    responses=problems(400, 403, 503),
)
async def sign_out(assay: Assay, request: AnyRequest) -> Response[Any]:
    """End the session and revoke its refresh token, even if its access token has expired."""
    session = session_of(request)
    if session is not None:
        require_same_origin(request)
        async with assay.store.begin() as db:
            await end_session(db, session, assay.clock.now())
    cookies = _clear_cookies(request, assay)
    if wants_page(request):
        return Redirect(HOME, status_code=HTTP_303_SEE_OTHER, cookies=cookies)
    return Response(SIGNED_OUT, cookies=cookies)


@delete(
    "/api/v1/auth/sign-out-all",
    summary="Sign out everywhere",
    tags=["accounts"],
    opt=ACCOUNT | PUBLISHING,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def sign_out_all(assay: Assay, caller: CalledBy, request: AnyRequest) -> Response[OkView]:
    """End all sessions and revoke all tokens of the account, immediately."""
    async with assay.store.begin() as db:
        await sign_out_everywhere(db, caller, assay.clock.now())
    return Response(OkView(), cookies=_clear_cookies(request, assay))


async def _refresh(assay: App, request: AnyRequest) -> SessionTokens | None:
    token = refresh_token(request, assay.settings)
    if token is None:
        return None
    async with assay.store.begin() as db:
        return await refresh_session(
            db, token, open_claims_signer(assay.settings), assay.settings.admin_logins, assay.clock.now()
        )


def _clear_cookies(request: AnyRequest, assay: App) -> list[Cookie]:
    """Clear the cookies only if the request sent them: forms of other sites do not, and must not sign anyone out."""
    was_sent = session_token(request, assay.settings) or refresh_token(request, assay.settings)
    return expired_session_cookies(assay.settings) if was_sent else []
