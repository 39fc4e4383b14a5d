"""Who am I, stay signed in, sign out: here or everywhere."""

from typing import Annotated, Any

from litestar import Request, Response, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import QueryParameter
from litestar.response import Redirect
from litestar.status_codes import HTTP_200_OK, HTTP_303_SEE_OTHER, HTTP_307_TEMPORARY_REDIRECT

from assay.accounts.sessions import Granted, end_session, refresh_session
from assay.accounts.tokens import sign_out_everywhere
from assay.app.app import App
from assay.app.sign_in import open_seal
from assay.model.account import Role
from assay.model.errors import Unauthenticated
from assay.web.http.access import ACCOUNT, PUBLIC
from assay.web.http.caller import caller_of, session_of
from assay.web.http.cookies import REFRESH_PATH, no_session, refresh_token, session_cookies, session_token
from assay.web.http.cross_site import refuse_cross_site
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.http.reader import wants_page
from assay.web.http.redirects import HOME, LONGEST, ask_to_sign_in, local_path
from assay.web.people.account_json import OkView
from assay.web.people.json import NOBODY, MeView, present_me

Onward = Annotated[str | None, QueryParameter(name="next", max_length=LONGEST, description="The page to go on to.")]
Asked = Request[Any, Any, Any]


@get("/auth/me", summary="Who am I?", tags=["accounts"], opt=PUBLIC, responses=problems(400, 503))
async def me(request: Asked) -> MeView:
    """A session is answered from its cookie, without the database; a token is looked up."""
    caller = caller_of(request)
    if not caller.is_signed_in:
        return NOBODY
    return MeView(signed_in=True, login=caller.name, role=Role.SUPER_ADMIN if caller.is_admin else Role.USER)


@get(REFRESH_PATH, opt=PUBLIC, include_in_schema=False)
async def refresh_page(assay: Assay, request: Asked, onward: Onward = None) -> Redirect:
    """A page comes here when its session has lapsed, and is sent back, with a new token or as nobody's.

    It changes nothing but tokens, so it does no harm that another site can lead somebody here.
    """
    granted = await _refresh(assay, request)
    cookies = session_cookies(granted, assay.settings) if granted else _forget(request, assay)
    return Redirect(local_path(onward or HOME), status_code=HTTP_303_SEE_OTHER, cookies=cookies)


@post(
    REFRESH_PATH,
    summary="Stay signed in",
    tags=["accounts"],
    opt=PUBLIC,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 503),
)
async def refresh(assay: Assay, request: Asked, onward: Onward = None) -> Response[Any]:
    """A new access token and a new refresh token, as cookies. With `next` a form that met a lapsed session goes on."""
    refuse_cross_site(request)
    granted = await _refresh(assay, request)
    if granted is None and wants_page(request):
        return ask_to_sign_in(request, lapsed=False)
    if granted is None:
        raise Unauthenticated("The session is over: sign in again.", code="session_over")
    cookies = session_cookies(granted, assay.settings)
    if onward is not None:
        return Redirect(local_path(onward), status_code=HTTP_307_TEMPORARY_REDIRECT, cookies=cookies)
    return Response(present_me(granted), cookies=cookies)


@post(
    "/auth/sign-out",
    summary="Sign out",
    tags=["accounts"],
    opt=PUBLIC,
    status_code=HTTP_200_OK,
    responses=problems(400, 403, 503),
)
async def sign_out(assay: Assay, request: Asked) -> Response[Any]:
    """The session ends, also if its access token is over; its refresh token is good for nothing any more."""
    session = session_of(request)
    if session is not None:
        refuse_cross_site(request)
        async with assay.store.begin() as db:
            await end_session(db, session, assay.clock.now())
    cookies = _forget(request, assay)
    if wants_page(request):
        return Redirect(HOME, status_code=HTTP_303_SEE_OTHER, cookies=cookies)
    return Response(NOBODY, cookies=cookies)


@delete(
    "/api/v1/auth/sign-out-all",
    summary="Sign out everywhere",
    tags=["accounts"],
    opt=ACCOUNT,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 503),
)
async def sign_out_all(assay: Assay, caller: CalledBy, request: Asked) -> Response[OkView]:
    """All your sessions and tokens end: tokens at once, what browsers have in their cookies within 15 minutes."""
    async with assay.store.begin() as db:
        await sign_out_everywhere(db, caller, assay.clock.now())
    return Response(OkView(), cookies=_forget(request, assay))


async def _refresh(assay: App, request: Asked) -> Granted | None:
    token = refresh_token(request, assay.settings)
    if token is None:
        return None
    async with assay.store.begin() as db:
        return await refresh_session(
            db, token, open_seal(assay.settings), assay.settings.admin_logins, assay.clock.now()
        )


def _forget(request: Asked, assay: App) -> list[Cookie]:
    """Only what was sent: a form of another site comes without our cookies, and must not take them away."""
    was_sent = session_token(request, assay.settings) or refresh_token(request, assay.settings)
    return no_session(assay.settings) if was_sent else []
