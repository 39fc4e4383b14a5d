"""Session cookies, and the check that a request made with them comes from a page of this registry.

The cookies are `HttpOnly` and `SameSite=Lax`, and `Secure` if the registry is served over https.
"""

from urllib.parse import urlsplit

from litestar.datastructures import Cookie
from litestar.enums import ScopeType

from assay.accounts.sessions import SESSION_SECONDS, SessionTokens
from assay.model.errors import Forbidden
from assay.settings import Settings
from assay.web.http.context import Connection, registry_of

REFRESH_PATH = "/auth/refresh"
GITHUB_PATH = "/auth/github"
GITHUB_SECONDS = 10 * 60
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def session_cookies(tokens: SessionTokens, settings: Settings) -> list[Cookie]:
    """Return both cookies. The access cookie outlives its token, so that pages can detect a refreshable session."""
    return [
        _cookie(_session(settings), tokens.access_token, "/", SESSION_SECONDS, settings),
        _cookie(_refresh(settings), tokens.refresh_token, REFRESH_PATH, SESSION_SECONDS, settings),
    ]


def expired_session_cookies(settings: Settings) -> list[Cookie]:
    """Return cookies that delete the session from the browser."""
    return [
        _cookie(_session(settings), "", "/", 0, settings),
        _cookie(_refresh(settings), "", REFRESH_PATH, 0, settings),
    ]


def github_cookie(token: str, settings: Settings) -> Cookie:
    """Return the cookie with the state of a sign-in at GitHub; an empty token deletes it."""
    return _cookie(_github(settings), token, GITHUB_PATH, GITHUB_SECONDS if token else 0, settings)


def session_token(connection: Connection, settings: Settings) -> str | None:
    return connection.cookies.get(_session(settings))


def refresh_token(connection: Connection, settings: Settings) -> str | None:
    """Return the refresh token, which browsers send only to REFRESH_PATH."""
    return connection.cookies.get(_refresh(settings))


def github_token(connection: Connection, settings: Settings) -> str | None:
    return connection.cookies.get(_github(settings))


def is_safe(connection: Connection) -> bool:
    """Return whether the method of the request changes nothing."""
    return connection.scope["type"] == ScopeType.HTTP and connection.scope["method"] in SAFE_METHODS


def require_same_origin(connection: Connection) -> None:
    """Raise Forbidden unless the browser states that the request comes from this registry; for cookie sessions."""
    if not _is_same_origin(connection):
        raise Forbidden("This request does not come from a page of this registry.", code="cross_site")


def refuse_cross_site(connection: Connection) -> None:
    """Raise Forbidden if the browser states that the request comes from another site; for requests without cookies."""
    if _is_same_origin(connection) is False:
        raise Forbidden("This request was sent from another site.", code="cross_site")


def own_origins(connection: Connection) -> frozenset[str]:
    """Return the public origin of the registry and the origin of this request."""
    public = urlsplit(registry_of(connection).settings.base_url)
    requested = f"{connection.url.scheme}://{connection.headers.get('host', '')}"
    return frozenset({f"{public.scheme}://{public.netloc}", requested})


def _is_same_origin(connection: Connection) -> bool | None:
    """Return None if neither header is present; browsers always send one of them with a form."""
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin in own_origins(connection) if origin is not None else None


def _cookie(key: str, value: str, path: str, seconds: int, settings: Settings) -> Cookie:
    secure = _is_secure(settings)
    return Cookie(key, path=path, value=value, max_age=seconds, secure=secure, httponly=True, samesite="lax")


# Browsers accept names with these prefixes only over https, and `__Host-` only from exactly this host.
def _session(settings: Settings) -> str:
    return "__Host-assay_session" if _is_secure(settings) else "assay_session"


def _refresh(settings: Settings) -> str:
    return "__Secure-assay_refresh" if _is_secure(settings) else "assay_refresh"


def _github(settings: Settings) -> str:
    return "__Secure-assay_github" if _is_secure(settings) else "assay_github"


def _is_secure(settings: Settings) -> bool:
    return settings.base_url.startswith("https://")
