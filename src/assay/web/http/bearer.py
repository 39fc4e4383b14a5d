"""`Authorization: Bearer`: what a program shows instead of a cookie. Only tokens of ours are looked at."""

from typing import Any

from litestar.connection import ASGIConnection

from assay.accounts.tokens import PREFIX
from assay.model.errors import Unauthenticated

EXCHANGE_PATH = "/api/v1/auth/github/exchange-for-vsk-token"


def shown_token(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """What claims to be a token of ours, if that is shown; what others have given proves nothing, and is no harm."""
    bearer = _bearer(connection)
    return bearer if bearer is not None and bearer.startswith(PREFIX) else None


def not_proved(connection: ASGIConnection[Any, Any, Any, Any]) -> Unauthenticated:
    """Why somebody is nobody, and what to do about it."""
    if shown_token(connection) is not None:
        return Unauthenticated("This token is unknown, revoked or over: sign in again, or make another.")
    if _bearer(connection) is not None:
        hint = f"one of GitHub's can be exchanged at POST {EXCHANGE_PATH}"
        return Unauthenticated(f"This is no token of this registry: {hint}.")
    return Unauthenticated("Sign in, or send a valid key or token.")


def _bearer(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    scheme, _, shown = connection.headers.get("authorization", "").partition(" ")
    return shown.strip() if scheme.lower() == "bearer" else None
