"""Sign in with a password, for programs; people have a form."""

from typing import Any

from litestar import Request, Response, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.accounts.sessions import Granted
from assay.accounts.sign_in import Attempt, sign_in_with_password
from assay.app.app import App
from assay.app.sign_in import open_seal
from assay.web.http.access import PUBLIC
from assay.web.http.cookies import session_cookies
from assay.web.http.cross_site import refuse_foreign_page
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.people.json import MeView, SignInBody, present_me

LARGEST_BYTES = 16 * 1024


@post(
    "/auth/sign-in",
    summary="Sign in with a password",
    tags=["accounts"],
    opt=PUBLIC,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 413, 415, 429, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def sign_in(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[SignInBody]) -> Response[MeView]:
    """The session is two cookies. A wrong password and an unknown login are the same answer."""
    granted = await try_password(assay, request, data)
    return Response(present_me(granted), cookies=session_cookies(granted, assay.settings))


async def try_password(assay: App, request: Request[Any, Any, Any], body: SignInBody) -> Granted:
    """A session for whoever sent this body."""
    # Nobody should find themselves signed in as somebody else by visiting another site.
    refuse_foreign_page(request)
    attempt = Attempt(body.login, body.password, request.client.host if request.client else "")
    return await sign_in_with_password(assay.store, attempt, open_seal(assay.settings), assay.clock.now())
