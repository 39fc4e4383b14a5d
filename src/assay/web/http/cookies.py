"""The cookies of a session: scripts cannot read them, other sites cannot send them along, and only https carries them
if the registry is reached by https."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

from assay.accounts.sessions import SESSION_SECONDS, Granted
from assay.settings import Settings

REFRESH_PATH = "/auth/refresh"
GITHUB_PATH = "/auth/github"
GITHUB_SECONDS = 10 * 60


def session_cookies(granted: Granted, settings: Settings) -> list[Cookie]:
    """Both tokens. That of access outlives its own time, so that a page knows of a session that can be refreshed."""
    return [
        _cookie(_session(settings), granted.access_token, "/", SESSION_SECONDS, settings),
        _cookie(_refresh(settings), granted.refresh_token, REFRESH_PATH, SESSION_SECONDS, settings),
    ]


def no_session(settings: Settings) -> list[Cookie]:
    """Both, forgotten."""
    return [
        _cookie(_session(settings), "", "/", 0, settings),
        _cookie(_refresh(settings), "", REFRESH_PATH, 0, settings),
    ]


def github_cookie(token: str, settings: Settings) -> Cookie:
    """How a sign-in with GitHub began; an empty token forgets it."""
    return _cookie(_github(settings), token, GITHUB_PATH, GITHUB_SECONDS if token else 0, settings)


def session_token(connection: ASGIConnection[Any, Any, Any, Any], settings: Settings) -> str | None:
    """The access token that a browser sent."""
    return connection.cookies.get(_session(settings))


def refresh_token(connection: ASGIConnection[Any, Any, Any, Any], settings: Settings) -> str | None:
    """The refresh token, which comes only to its own path."""
    return connection.cookies.get(_refresh(settings))


def github_token(connection: ASGIConnection[Any, Any, Any, Any], settings: Settings) -> str | None:
    """What was noted when the sign-in began."""
    return connection.cookies.get(_github(settings))


def _cookie(key: str, value: str, path: str, seconds: int, settings: Settings) -> Cookie:
    secure = _is_secure(settings)
    return Cookie(key, path=path, value=value, max_age=seconds, secure=secure, httponly=True, samesite="lax")


# A browser takes names with these prefixes only over https, and `__Host-` only from this very host.
def _session(settings: Settings) -> str:
    return "__Host-assay_session" if _is_secure(settings) else "assay_session"


def _refresh(settings: Settings) -> str:
    return "__Secure-assay_refresh" if _is_secure(settings) else "assay_refresh"


def _github(settings: Settings) -> str:
    return "__Secure-assay_github" if _is_secure(settings) else "assay_github"


def _is_secure(settings: Settings) -> bool:
    return settings.base_url.startswith("https://")
