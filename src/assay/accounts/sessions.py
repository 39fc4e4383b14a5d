"""Sessions: a short-lived access token that any process can verify alone, and a refresh token that rotates.

A refresh token is valid once; using it returns its successor. Two browser tabs may use the same token at the same time,
or a response may be lost, so for GRACE_SECONDS the previous token returns the same successor again. A later use means
that the token was copied. The thief and the user cannot be told apart, so the session is revoked.
"""

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.roles import recheck_role
from assay.accounts.signed_claims import Claims, ClaimsPurpose, ClaimsSigner
from assay.model.account import Account, Role
from assay.model.ids import new_id
from assay.model.source import digest_of
from assay.store.operations.audit import record_audit
from assay.store.people.sessions import (
    Session,
    add_session,
    delete_old_sessions,
    lock_session,
    revoke_session,
    rotate_session,
)

ACCESS_SECONDS = 15 * 60
SESSION_SECONDS = 30 * 24 * 60 * 60
GRACE_SECONDS = 20
TOKEN_BYTES = 32


class AccessClaims(Claims, frozen=True, kw_only=True):
    """The content of an access token."""

    sub: UUID
    sid: UUID
    login: str
    role: Role


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """The signed-in account and the two tokens for its browser."""

    account: Account
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


async def start_session(db: AsyncConnection, account: Account, signer: ClaimsSigner, now: datetime) -> SessionTokens:
    """Create a session; also deletes expired ones."""
    await delete_old_sessions(db, now)
    session_id = new_id()
    token = f"{session_id.hex}.{secrets.token_urlsafe(TOKEN_BYTES)}"
    await add_session(db, session_id, account.id, _digest(token), _end(now))
    return _grant(signer, account, session_id, token, now)


async def refresh_session(
    db: AsyncConnection, token: str, signer: ClaimsSigner, admin_logins: Collection[str], now: datetime
) -> SessionTokens | None:
    """Return new tokens with the current role, or None if the token is invalid.

    The caller must commit in both cases: a reused token revokes the session.
    """
    session = await _find(db, token)
    if session is None or session.revoked_at or session.expires_at <= now or session.account.is_disabled:
        return None
    successor = await _successor(db, session, token, signer, now)
    if successor is None:
        await revoke_session(db, session.id, now)
        await record_audit(db, session.account.login, "session_revoked", session.account.login, {"because": "reused"})
        return None
    account = await recheck_role(db, session.account, admin_logins)
    return _grant(signer, account, session.id, successor, now)


async def end_session(db: AsyncConnection, claims: AccessClaims, now: datetime) -> None:
    if await revoke_session(db, claims.sid, now):
        await record_audit(db, claims.login, "sign_out", claims.login)


async def _successor(
    db: AsyncConnection, session: Session, token: str, signer: ClaimsSigner, now: datetime
) -> str | None:
    digest = _digest(token)
    if hmac.compare_digest(digest, session.token_digest):
        salt = secrets.token_bytes(TOKEN_BYTES)
        successor = _next(session.id, token, salt, signer)
        await rotate_session(db, session.id, _digest(successor), salt, now, _end(now))
        return successor
    if session.previous_digest is None or session.salt is None or session.rotated_at is None:
        return None
    is_previous = hmac.compare_digest(digest, session.previous_digest)
    if is_previous and now - session.rotated_at <= timedelta(seconds=GRACE_SECONDS):
        return _next(session.id, token, session.salt, signer)
    return None


async def _find(db: AsyncConnection, token: str) -> Session | None:
    session_id, _, _ = token.partition(".")
    try:
        return await lock_session(db, UUID(hex=session_id))
    except ValueError:
        return None


def _next(session_id: UUID, token: str, salt: bytes, signer: ClaimsSigner) -> str:
    return f"{session_id.hex}.{signer.derive(salt, token)}"


def _grant(
    signer: ClaimsSigner, account: Account, session_id: UUID, refresh_token: str, now: datetime
) -> SessionTokens:
    claims = {"sub": str(account.id), "sid": str(session_id), "login": account.login, "role": account.role.value}
    return SessionTokens(account, signer.sign(ClaimsPurpose.SESSION, claims, now, ACCESS_SECONDS), refresh_token)


def _digest(token: str) -> str:
    return digest_of(token.encode())


def _end(now: datetime) -> datetime:
    return now + timedelta(seconds=SESSION_SECONDS)
