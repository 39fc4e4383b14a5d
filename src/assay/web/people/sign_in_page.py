"""The page to sign in, which works without any script."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import QueryParameter, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_200_OK, HTTP_303_SEE_OTHER

from assay.app.app import App
from assay.model.errors import AssayError, Invalid, Throttled, Unauthenticated
from assay.web.http.access import PUBLIC
from assay.web.http.cookies import session_cookies
from assay.web.http.dependencies import Assay
from assay.web.http.errors import headers_of, status_of
from assay.web.http.redirects import HOME, LONGEST, SIGN_IN_PATH, local_path
from assay.web.people.json import SignInBody
from assay.web.people.password import LARGEST_BYTES, try_password

Onward = Annotated[str, QueryParameter(name="next", max_length=LONGEST)]


@get(SIGN_IN_PATH, opt=PUBLIC, include_in_schema=False)
async def sign_in_page(assay: Assay, onward: Onward = HOME) -> Template:
    """The ways in that this registry has."""
    return _page(assay, onward)


@post(
    SIGN_IN_PATH,
    opt=PUBLIC,
    include_in_schema=False,
    status_code=HTTP_200_OK,
    request_max_body_size=LARGEST_BYTES,
)
async def sign_in_form(
    assay: Assay, request: Request[Any, Any, Any], data: URLEncodedBody[SignInBody], onward: Onward = HOME
) -> Response[Any]:
    """On to the page that was wanted; back to the form, with the reason, if not."""
    try:
        granted = await try_password(assay, request, data)
    except (Unauthenticated, Invalid, Throttled) as refusal:
        return _page(assay, onward, refusal, data.login)
    cookies = session_cookies(granted, assay.settings)
    return Redirect(local_path(onward), status_code=HTTP_303_SEE_OTHER, cookies=cookies)


def _page(assay: App, onward: str, refusal: AssayError | None = None, login: str = "") -> Template:
    context = {
        "onward": local_path(onward),
        "refusal": refusal,
        "login": login,
        "has_github": assay.settings.oauth_client_id is not None,
    }
    if refusal is None:
        return Template("people/sign_in.html", context=context)
    return Template("people/sign_in.html", context=context, status_code=status_of(refusal), headers=headers_of(refusal))
