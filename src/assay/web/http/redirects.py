"""Where a person goes next: only ever to a path of this registry."""

import re
from urllib.parse import urlsplit

from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER, HTTP_307_TEMPORARY_REDIRECT

from assay.web.http.caller import Connection
from assay.web.http.cookies import REFRESH_PATH
from assay.web.http.cross_site import is_safe, own_origins

HOME = "/"
LAPSED = "session_lapsed"
SIGN_IN_PATH = "/sign-in"
LONGEST = 2000
# One slash, and then no second and no backslash, which browsers take for one: `//host` is another site.
LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


def local_path(wanted: str) -> str:
    """The path, if it is one of ours and leads to a page; home if not."""
    is_local = len(wanted) <= LONGEST and LOCAL.fullmatch(wanted)
    return wanted if is_local and not wanted.startswith("/auth/") else HOME


def ask_to_sign_in(connection: Connection, *, lapsed: bool) -> Redirect:
    """A person without a session signs in and comes back; one whose session has lapsed comes back by itself."""
    if lapsed:
        # 307, so that a form that was sent meanwhile is sent again.
        asked = {"next": local_path(_asked(connection))}
        return Redirect(REFRESH_PATH, query_params=asked, status_code=HTTP_307_TEMPORARY_REDIRECT)
    back = _asked(connection) if is_safe(connection) else _page_before(connection)
    return Redirect(SIGN_IN_PATH, query_params={"next": local_path(back)}, status_code=HTTP_303_SEE_OTHER)


def _asked(connection: Connection) -> str:
    path = connection.scope["raw_path"].decode("latin-1")
    query = connection.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _page_before(connection: Connection) -> str:
    parts = urlsplit(connection.headers.get("referer", ""))
    if f"{parts.scheme}://{parts.netloc}" not in own_origins(connection):
        return HOME
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
