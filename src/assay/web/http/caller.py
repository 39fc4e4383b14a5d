"""Who is asking: the internal key, a person whose session any process can check by itself, or a program of theirs whose
token is looked up."""

import hashlib
import hmac
from typing import Any

from litestar.connection import ASGIConnection

from assay.accounts.sessions import AccessClaims
from assay.accounts.signed_claims import Purpose, is_over
from assay.accounts.tokens import caller_by_token
from assay.app.app import App
from assay.app.sign_in import open_seal
from assay.model.account import ANONYMOUS, INTERNAL_KEY, Caller, Role
from assay.settings import Settings
from assay.web.http.bearer import shown_token
from assay.web.http.context import behind
from assay.web.http.cookies import session_token

KEY_HEADER = "X-Internal-Key"
Connection = ASGIConnection[Any, Any, Any, Any]


async def identify(connection: Connection) -> Caller:
    """Who is asking. A token is looked up here, once a request; nothing else needs the database."""
    assay, token = registry_of(connection), shown_token(connection)
    if token is not None and KEY_HEADER not in connection.headers:
        async with assay.store.begin() as db:
            found = await caller_by_token(db, token, assay.settings.admin_logins, assay.clock.now())
        connection.state["caller"] = found or ANONYMOUS
    return caller_of(connection)


def caller_of(connection: Connection) -> Caller:
    """Who is asking, found out once a request. What is wrong, or over, proves nothing."""
    if "caller" not in connection.state:
        connection.state["caller"] = _identify(connection, registry_of(connection))
    caller: Caller = connection.state["caller"]
    return caller


def session_of(connection: Connection) -> AccessClaims | None:
    """What the access token says, if it is one of ours; it may be over."""
    assay = registry_of(connection)
    token = session_token(connection, assay.settings)
    if token is None:
        return None
    return open_seal(assay.settings).read(Purpose.SESSION, token, AccessClaims, assay.clock.now())


def has_lapsed(connection: Connection) -> bool:
    """Whether there is a session whose access token is over: it may be refreshed."""
    session = session_of(connection)
    return session is not None and is_over(session, registry_of(connection).clock.now())


def registry_of(connection: Connection) -> App:
    """The registry that this request is for."""
    return behind(connection.scope).assay


def _identify(connection: Connection, assay: App) -> Caller:
    key = connection.headers.get(KEY_HEADER)
    if key is not None:
        return INTERNAL_KEY if _is_internal_key(key, assay.settings) else ANONYMOUS
    if shown_token(connection) is not None:
        return ANONYMOUS
    session = session_of(connection)
    if session is None or is_over(session, assay.clock.now()):
        return ANONYMOUS
    return Caller(session.sub, session.login, is_admin=session.role is Role.SUPER_ADMIN)


def _is_internal_key(given: str, settings: Settings) -> bool:
    """Compared with both keys, whole, as digests: the time it takes tells neither the key nor how many there are."""
    if settings.internal_key is None:
        return False
    keys = (settings.internal_key, settings.internal_key_previous or settings.internal_key)
    # A header is bytes; the framework has read them as Latin-1.
    digest = hashlib.sha256(given.encode("latin-1")).digest()
    matches = [hmac.compare_digest(digest, hashlib.sha256(key.get_secret_value().encode()).digest()) for key in keys]
    return any(matches)
