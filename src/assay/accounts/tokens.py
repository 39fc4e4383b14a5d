"""API tokens: shown once, stored as a digest, with an expiry date set on creation.

A token is created in a session or in exchange for a GitHub token, never with another API token: a thief could otherwise
create a second token that survives the revocation of the first. Its scopes never exceed the role of its account, which
is checked on creation and at each use.
"""

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import owned_namespaces
from assay.accounts.roles import recheck_role
from assay.accounts.sessions import AccessClaims
from assay.model.account import DEFAULT_SCOPES, ROLES_OF_SCOPES, Account, Caller, Role, Scope
from assay.model.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from assay.model.ids import new_id
from assay.model.source import digest_of
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import lock_account, revoke_credentials
from assay.store.people.sessions import find_session_account
from assay.store.people.tokens import AccountToken, add_token, find_token, list_tokens, record_token_use, revoke_token

PREFIX = "vsk_"
# Documented for secret scanners.
FORM = re.compile(r"vsk_[A-Za-z0-9_-]{43}")
TOKEN_BYTES = 32
MAX_TOKENS = 20
DEFAULT_DAYS, MAX_DAYS = 90, 365
MAX_LABEL = 100
MAX_NAMESPACES = 50
# Minimum interval between updates of the time of last use, which a client could trigger with every request.
USE_SECONDS = 60 * 60


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that a person asks for. Without `namespaces` it is valid for all that the account owns, now or later."""

    label: str
    days: int = DEFAULT_DAYS
    scopes: frozenset[Scope] = DEFAULT_SCOPES
    namespaces: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token with its secret, which is not stored and cannot be shown again."""

    account: Account
    token: AccountToken
    secret: str = field(repr=False)


async def create_token(
    db: AsyncConnection, session: AccessClaims, request: TokenRequest, now: datetime
) -> CreatedToken:
    """Create a token for the account of a session.

    Raises Conflict if the account has MAX_TOKENS, Forbidden if the token would have more rights than the account.
    """
    account = await lock_account(db, session.sub)
    # An access token outlives its session by minutes; a token created with it would outlive it by months.
    if account is None or account.is_disabled or await find_session_account(db, session.sid, now) is None:
        raise Unauthenticated("The session has ended. Sign in again.", code="session_over")
    if len(await list_tokens(db, account.id, now)) >= MAX_TOKENS:
        raise _too_many()
    _check_scopes(account, request.scopes)
    namespaces = await _check_namespaces(db, account, request.namespaces)
    end = now + timedelta(days=request.days)
    token = AccountToken(new_id(), _printed(request.label), now, end, None, request.scopes, namespaces)
    return await _add(db, account, token)


async def exchange_token(db: AsyncConnection, account: Account, now: datetime) -> CreatedToken:
    """Create a token for an account that GitHub has just confirmed; the caller holds its lock.

    If the account has MAX_TOKENS, the oldest token created by an exchange is revoked.
    """
    live = await list_tokens(db, account.id, now)
    if len(live) >= MAX_TOKENS:
        oldest = next((each for each in live if each.label is None), None)
        if oldest is None:
            raise _too_many()
        await revoke_own_token(db, account.id, account.login, oldest.id, now)
    token = AccountToken(new_id(), None, now, now + timedelta(days=DEFAULT_DAYS), None)
    return await _add(db, account, token)


async def caller_by_token(
    db: AsyncConnection, secret: str, admin_logins: Collection[str], now: datetime
) -> Caller | None:
    """Return the caller that a token authenticates, with the current role; None if the token is not valid."""
    found = await find_token(db, digest_of(secret.encode()), now) if FORM.fullmatch(secret) else None
    if found is None or found[1].is_disabled:
        return None
    token, account = found
    if token.last_used_at is None or now - token.last_used_at >= timedelta(seconds=USE_SECONDS):
        await record_token_use(db, token.id, now)
    role = (await recheck_role(db, account, admin_logins)).role
    return Caller(
        account.id,
        account.login,
        is_admin=role is Role.SUPER_ADMIN and Scope.ADMIN in token.scopes,
        by_token=True,
        role=role,
        scopes=token.scopes,
        namespaces=token.namespaces,
        token_id=token.id,
    )


async def revoke_own_token(db: AsyncConnection, account_id: UUID, login: str, token_id: UUID, now: datetime) -> None:
    """Revoke a token of this account; raises NotFound if the account has no such token."""
    revoked = await revoke_token(db, account_id, token_id, now)
    if revoked is None:
        raise NotFound("You have no such token.", code="token_not_found")
    await record_audit(db, login, "token_revoked", login, _detail(revoked))


async def sign_out_everywhere(db: AsyncConnection, caller: Caller, now: datetime) -> None:
    """End every session and token of the caller's account; raises NotFound for callers without one."""
    account = await lock_account(db, caller.account_id) if caller.account_id else None
    if account is None:
        raise NotFound(
            "The registry's internal key has no account, so there is nothing to sign out of.", code="no_account"
        )
    await revoke_credentials(db, [account.id], now)
    await record_audit(db, account.login, "sign_out_everywhere", account.login, {"account_id": str(account.id)})


async def _add(db: AsyncConnection, account: Account, token: AccountToken) -> CreatedToken:
    secret = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    await add_token(db, token, account.id, digest_of(secret.encode()))
    await record_audit(db, account.login, "token_created", account.login, _detail(token))
    return CreatedToken(account, token, secret)


def _check_scopes(account: Account, scopes: frozenset[Scope]) -> None:
    for scope, role in ROLES_OF_SCOPES.items():
        if scope in scopes and not account.role.includes(role):
            raise Forbidden(
                f"scopes: {scope} needs the role {role}; your role is {account.role}.", code="scope_exceeds_role"
            )


async def _check_namespaces(
    db: AsyncConnection, account: Account, requested: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the names in lower case; raises Forbidden if the account does not own one of them."""
    if requested is None:
        return None
    names = frozenset(name.lower() for name in requested)
    foreign = sorted(names - {each.name for each in await owned_namespaces(db, account)})
    if foreign:
        raise Forbidden(f"namespaces: you do not own {', '.join(foreign)}.", code="not_owner")
    return names


def _printed(label: str) -> str:
    """Collapse whitespace; raises Invalid if the label is empty or has invisible characters."""
    line = " ".join(label.split())
    if not line or not line.isprintable():
        raise Invalid("label: describe the token in a few visible characters.", code="bad_label")
    return line


def _detail(token: AccountToken) -> dict[str, object]:
    return {
        "token_id": str(token.id),
        "label": token.label,
        "expires_at": token.expires_at.isoformat(),
        "scopes": sorted(token.scopes),
        "namespaces": None if token.namespaces is None else sorted(token.namespaces),
    }


def _too_many() -> Conflict:
    return Conflict(f"You already have {MAX_TOKENS} tokens, the maximum. Revoke one first.", code="too_many_tokens")
