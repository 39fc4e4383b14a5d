"""A session: a short-lived access token that any process can check by itself, and a refresh token that changes.

A refresh token is used once, and the session then has its successor. Two tabs of a browser may use the same one at the
same moment, or an answer may be lost on its way, so for some seconds the token before gives the same successor again.
Whoever shows it later shows a copy: nobody can know which of the two holders is the person, so the session ends.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.roles import keep_role
from assay.accounts.signed_claims import Claims, Purpose, Seal
from assay.model.account import Account, Role
from assay.model.ids import new_id
from assay.store.operations.audit import record_audit
from assay.store.people.sessions import (
    Session,
    add_session,
    forget_sessions,
    lock_session,
    revoke_session,
    rotate_session,
)

ACCESS_SECONDS = 15 * 60
SESSION_SECONDS = 30 * 24 * 60 * 60
GRACE_SECONDS = 20
TOKEN_BYTES = 32


class AccessClaims(Claims, frozen=True, kw_only=True):
    """Who has signed in, as the access token says it."""

    sub: UUID
    sid: UUID
    login: str
    role: Role


@dataclass(frozen=True, slots=True)
class Granted:
    """What a browser is given."""

    account: Account
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


async def start_session(db: AsyncConnection, account: Account, seal: Seal, now: datetime) -> Granted:
    """A browser signs in."""
    await forget_sessions(db, now)
    session_id = new_id()
    token = f"{session_id.hex}.{secrets.token_urlsafe(TOKEN_BYTES)}"
    await add_session(db, session_id, account.id, _digest(token), _end(now))
    return _grant(seal, account, session_id, token, now)


async def refresh_session(
    db: AsyncConnection, token: str, seal: Seal, admin_logins: Collection[str], now: datetime
) -> Granted | None:
    """New tokens for a good one, with the role as it is now; None for any other, which must not be rolled back."""
    session = await _find(db, token)
    if session is None or session.revoked_at or session.expires_at <= now or session.account.is_disabled:
        return None
    successor = await _successor(db, session, token, seal, now)
    if successor is None:
        await revoke_session(db, session.id, now)
        await record_audit(db, session.account.login, "session_revoked", session.account.login, {"because": "reused"})
        return None
    account = await keep_role(db, session.account, admin_logins)
    return _grant(seal, account, session.id, successor, now)


async def end_session(db: AsyncConnection, claims: AccessClaims, now: datetime) -> None:
    """A person signs out."""
    if await revoke_session(db, claims.sid, now):
        await record_audit(db, claims.login, "sign_out", claims.login)


async def _successor(db: AsyncConnection, session: Session, token: str, seal: Seal, now: datetime) -> str | None:
    digest = _digest(token)
    if hmac.compare_digest(digest, session.token_digest):
        salt = secrets.token_bytes(TOKEN_BYTES)
        successor = _next(session.id, token, salt, seal)
        await rotate_session(db, session.id, _digest(successor), salt, now, _end(now))
        return successor
    if session.previous_digest is None or session.salt is None or session.rotated_at is None:
        return None
    is_previous = hmac.compare_digest(digest, session.previous_digest)
    if is_previous and now - session.rotated_at <= timedelta(seconds=GRACE_SECONDS):
        return _next(session.id, token, session.salt, seal)
    return None


async def _find(db: AsyncConnection, token: str) -> Session | None:
    named, _, _ = token.partition(".")
    try:
        return await lock_session(db, UUID(hex=named))
    except ValueError:
        return None


def _next(session_id: UUID, token: str, salt: bytes, seal: Seal) -> str:
    return f"{session_id.hex}.{seal.derive(salt, token)}"


def _grant(seal: Seal, account: Account, session_id: UUID, refresh_token: str, now: datetime) -> Granted:
    claims = {"sub": str(account.id), "sid": str(session_id), "login": account.login, "role": account.role.value}
    return Granted(account, seal.sign(Purpose.SESSION, claims, now, ACCESS_SECONDS), refresh_token)


def _digest(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def _end(now: datetime) -> datetime:
    return now + timedelta(seconds=SESSION_SECONDS)
