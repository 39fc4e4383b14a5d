"""Pages or JSON, and redirects to sign-in; redirects lead only to paths of this registry."""

import re
from urllib.parse import urlsplit

from litestar import MediaType
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER, HTTP_307_TEMPORARY_REDIRECT

from assay.web.http.context import Connection
from assay.web.http.cookies import REFRESH_PATH, is_safe, own_origins

MACHINE_ROUTES = ("/api/", "/healthz", "/readyz", "/metrics")
HOME = "/"
SESSION_EXPIRED = "session_lapsed"
SIGN_IN_PATH = "/sign-in"
LONGEST = 2000
# Exactly one leading slash: browsers read `//host` and `/\host` as another site.
LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


def wants_page(connection: Connection) -> bool:
    """Return whether to respond with HTML; API routes never do."""
    is_machine_route = connection.scope["path"].startswith(MACHINE_ROUTES)
    return not is_machine_route and MediaType.HTML.value in connection.headers.get("accept", "")


def local_path(path: str) -> str:
    """Return the path if it is a page of this registry, else the home page."""
    is_local = len(path) <= LONGEST and LOCAL.fullmatch(path)
    return path if is_local and not path.startswith("/auth/") else HOME


def ask_to_sign_in(connection: Connection, *, is_refreshable: bool) -> Redirect:
    """Redirect to sign-in and back, or through a refresh if only the access token has expired."""
    if is_refreshable:
        # 307 makes the browser repeat the request, so that a submitted form is not lost.
        query = {"next": local_path(_requested(connection))}
        return Redirect(REFRESH_PATH, query_params=query, status_code=HTTP_307_TEMPORARY_REDIRECT)
    back = _requested(connection) if is_safe(connection) else _previous_page(connection)
    return Redirect(SIGN_IN_PATH, query_params={"next": local_path(back)}, status_code=HTTP_303_SEE_OTHER)


def _requested(connection: Connection) -> str:
    path = connection.scope["raw_path"].decode("latin-1")
    query = connection.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _previous_page(connection: Connection) -> str:
    parts = urlsplit(connection.headers.get("referer", ""))
    if f"{parts.scheme}://{parts.netloc}" not in own_origins(connection):
        return HOME
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
