"""The sign-in page, which works without scripts."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import QueryParameter, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_200_OK, HTTP_303_SEE_OTHER

from assay.app.app import App
from assay.model.errors import AssayError, Invalid, Throttled, Unauthenticated
from assay.web.http.access import UNIDENTIFIED
from assay.web.http.context import Assay
from assay.web.http.cookies import session_cookies
from assay.web.http.errors import headers_of, status_of
from assay.web.http.redirects import HOME, LONGEST, SIGN_IN_PATH, local_path
from assay.web.people.json import SignInBody
from assay.web.people.sign_in import LARGEST_BYTES, try_password

NextPath = Annotated[str, QueryParameter(name="next", max_length=LONGEST)]


@get(SIGN_IN_PATH, opt=UNIDENTIFIED, include_in_schema=False)
async def sign_in_page(assay: Assay, next_path: NextPath = HOME) -> Template:
    return _page(assay, next_path)


@post(
    SIGN_IN_PATH,
    opt=UNIDENTIFIED,
    include_in_schema=False,
    status_code=HTTP_200_OK,
    request_max_body_size=LARGEST_BYTES,
)
async def sign_in_form(
    assay: Assay, request: Request[Any, Any, Any], data: URLEncodedBody[SignInBody], next_path: NextPath = HOME
) -> Response[Any]:
    """Redirect to the next page, or show the form again with the error."""
    try:
        session = await try_password(assay, request, data)
    except (Unauthenticated, Invalid, Throttled) as error:
        return _page(assay, next_path, error, data.login)
    cookies = session_cookies(session, assay.settings)
    return Redirect(local_path(next_path), status_code=HTTP_303_SEE_OTHER, cookies=cookies)


def _page(assay: App, next_path: str, error: AssayError | None = None, login: str = "") -> Template:
    context = {
        "next_path": local_path(next_path),
        "error": error,
        "login": login,
        "has_github": assay.settings.oauth_client_id is not None,
    }
    if error is None:
        return Template("people/sign_in.html", context=context)
    return Template("people/sign_in.html", context=context, status_code=status_of(error), headers=headers_of(error))
