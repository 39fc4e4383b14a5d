"""The caller of a request: the internal key, a session, a bearer token, or none of them (anonymous).

For public reads a session is verified from its cookie alone. All other requests look it up in the database, as every
request does with a bearer token: a cookie that was copied, or whose session has ended, must not change anything.
"""

import hashlib
import hmac

from assay.accounts.sessions import AccessClaims, caller_by_session
from assay.accounts.signed_claims import ClaimsPurpose, is_expired
from assay.accounts.tokens import PREFIX, caller_by_token
from assay.app.app import App, open_claims_signer
from assay.model.account import ANONYMOUS, INTERNAL_KEY, Caller, Role
from assay.model.errors import Unauthenticated
from assay.settings import Settings
from assay.web.http.context import Connection, registry_of
from assay.web.http.cookies import session_token
from assay.web.http.redirects import SESSION_EXPIRED

KEY_HEADER = "X-Internal-Key"
EXCHANGE_PATH = "/api/v1/auth/github/exchange-for-vsk-token"


async def identify(connection: Connection, *, checks_session: bool) -> Caller:
    """Return the caller, and look up a bearer token in the database; with `checks_session` also a session.

    Raises Unauthenticated if the session is checked and has ended or must be refreshed.
    """
    if KEY_HEADER in connection.headers:
        return caller_of(connection)
    token = registry_token(connection)
    session = session_of(connection) if checks_session and token is None else None
    if token is not None:
        connection.state["caller"] = await _look_up_token(registry_of(connection), token)
    if session is not None:
        connection.state["caller"] = await _look_up_session(registry_of(connection), session)
    return caller_of(connection)


def caller_of(connection: Connection) -> Caller:
    """Return the caller, identified once per request; invalid or expired credentials make it anonymous."""
    if "caller" not in connection.state:
        connection.state["caller"] = _identify(connection, registry_of(connection))
    caller: Caller = connection.state["caller"]
    return caller


def session_of(connection: Connection) -> AccessClaims | None:
    """Return the claims of the access token if its signature is valid; it may have expired."""
    assay = registry_of(connection)
    token = session_token(connection, assay.settings)
    if token is None:
        return None
    return open_claims_signer(assay.settings).read(ClaimsPurpose.SESSION, token, AccessClaims, assay.clock.now())


def needs_refresh(connection: Connection) -> bool:
    """Return whether the request has a session whose access token has expired."""
    session = session_of(connection)
    return session is not None and is_expired(session, registry_of(connection).clock.now())


def registry_token(connection: Connection) -> str | None:
    """Return the bearer token if it has the prefix of this registry's tokens; those of other issuers are ignored."""
    bearer = _bearer(connection)
    return bearer if bearer is not None and bearer.startswith(PREFIX) else None


def unauthenticated(connection: Connection) -> Unauthenticated:
    """Return the error for a request without valid credentials, with a hint that fits what it sent."""
    if KEY_HEADER in connection.headers:
        return Unauthenticated(f"The key in {KEY_HEADER} is not a key of this registry.")
    if registry_token(connection) is not None:
        return Unauthenticated("This token is unknown, revoked or expired. Sign in again or create another token.")
    if _bearer(connection) is not None:
        return Unauthenticated(
            "This token was not issued by this registry. "
            f"A token issued by GitHub can be exchanged at POST {EXCHANGE_PATH}."
        )
    return Unauthenticated("Sign in, or send a valid key or token.")


def _bearer(connection: Connection) -> str | None:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _identify(connection: Connection, assay: App) -> Caller:
    key = connection.headers.get(KEY_HEADER)
    if key is not None:
        return INTERNAL_KEY if _is_internal_key(key, assay.settings) else ANONYMOUS
    if registry_token(connection) is not None:
        return ANONYMOUS
    session = session_of(connection)
    if session is None or is_expired(session, assay.clock.now()):
        return ANONYMOUS
    return Caller(session.sub, session.login, is_admin=session.role is Role.SUPER_ADMIN, role=session.role)


async def _look_up_token(assay: App, token: str) -> Caller:
    async with assay.store.begin() as db:
        return await caller_by_token(db, token, assay.settings.admin_logins, assay.clock.now()) or ANONYMOUS


async def _look_up_session(assay: App, session: AccessClaims) -> Caller:
    now = assay.clock.now()
    if is_expired(session, now):
        raise Unauthenticated("The access token has expired: refresh it at POST /auth/refresh.", code=SESSION_EXPIRED)
    async with assay.store.begin() as db:
        caller = await caller_by_session(db, session, assay.settings.admin_logins, now)
    if caller is None:
        raise Unauthenticated("The session has ended. Sign in again.", code="session_over")
    return caller


def _is_internal_key(key: str, settings: Settings) -> bool:
    """Compare the digest with both keys in constant time, so that timing reveals neither a key nor their number."""
    if settings.internal_key is None:
        return False
    keys = (settings.internal_key, settings.internal_key_previous or settings.internal_key)
    # Litestar decodes headers as Latin-1.
    digest = hashlib.sha256(key.encode("latin-1")).digest()
    matches = [hmac.compare_digest(digest, hashlib.sha256(each.get_secret_value().encode()).digest()) for each in keys]
    return any(matches)
