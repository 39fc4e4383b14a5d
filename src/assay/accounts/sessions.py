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
from assay.model.account import Account, Caller, Role
from assay.model.errors import NotFound
from assay.model.ids import new_id
from assay.model.source import digest_of
from assay.store.operations.audit import record_audit
from assay.store.people.sessions import (
    OpenSession,
    Session,
    add_session,
    delete_old_sessions,
    find_session_account,
    lock_session,
    revoke_session,
    rotate_session,
)

ACCESS_SECONDS = 15 * 60
SESSION_SECONDS = 30 * 24 * 60 * 60
GRACE_SECONDS = 20
TOKEN_BYTES = 32
MAX_USER_AGENT_LENGTH = 200


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


async def start_session(
    db: AsyncConnection, account: Account, signer: ClaimsSigner, now: datetime, user_agent: str | None = None
) -> SessionTokens:
    """Create a session; also deletes expired ones. The user agent is what its owner recognises it by."""
    await delete_old_sessions(db, now)
    opened = OpenSession(new_id(), now, now, _printed(user_agent))
    token = f"{opened.id.hex}.{secrets.token_urlsafe(TOKEN_BYTES)}"
    await add_session(db, opened, account.id, _digest(token), _end(now))
    return _grant(signer, account, opened.id, token, now)


async def caller_by_session(
    db: AsyncConnection, claims: AccessClaims, admin_logins: Collection[str], now: datetime
) -> Caller | None:
    """Return the caller with the current role; None if the session has ended or its account is disabled.

    An access token alone proves neither: it outlives its session by minutes.
    """
    account = await find_session_account(db, claims.sid, now)
    if account is None or account.is_disabled or account.id != claims.sub:
        return None
    return caller_in_session(await recheck_role(db, account, admin_logins))


def caller_in_session(account: Account) -> Caller:
    return Caller(account.id, account.login, is_admin=account.role is Role.SUPER_ADMIN, role=account.role)


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
        await revoke_session(db, session.id, session.account.id, now)
        await record_audit(db, session.account.login, "session_revoked", session.account.login, {"because": "reused"})
        return None
    account = await recheck_role(db, session.account, admin_logins)
    return _grant(signer, account, session.id, successor, now)


async def end_session(db: AsyncConnection, claims: AccessClaims, now: datetime) -> None:
    if await revoke_session(db, claims.sid, claims.sub, now):
        await record_audit(db, claims.login, "sign_out", claims.login)


async def revoke_own_session(
    db: AsyncConnection, account_id: UUID, login: str, session_id: UUID, now: datetime
) -> None:
    """End a session of this account; raises NotFound if the account has no such session."""
    if not await revoke_session(db, session_id, account_id, now):
        raise NotFound("You have no such session.", code="session_not_found")
    detail = {"because": "revoked", "session_id": str(session_id)}
    await record_audit(db, login, "session_revoked", login, detail)


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


def _printed(user_agent: str | None) -> str | None:
    """Return the visible characters of a header that a client chose."""
    return "".join(filter(str.isprintable, user_agent or ""))[:MAX_USER_AGENT_LENGTH].strip() or None


def _digest(token: str) -> str:
    return digest_of(token.encode())


def _end(now: datetime) -> datetime:
    return now + timedelta(seconds=SESSION_SECONDS)
