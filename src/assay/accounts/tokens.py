"""Tokens that people give to their programs: shown once, kept as a digest, and over on a day that is said beforehand.

A token is made by somebody who has signed in, or for a token of GitHub's; never by another token, because whoever has
stolen one could then keep what its owner takes back.
"""

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.roles import keep_role
from assay.accounts.sessions import AccessClaims
from assay.model.account import Account, Caller, Role
from assay.model.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from assay.model.ids import new_id
from assay.model.source import digest_of
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import lock_account, revoke_proofs
from assay.store.people.sessions import is_open_session
from assay.store.people.tokens import AccountToken, add_token, find_token, list_tokens, note_use, revoke_token

PREFIX = "vsk_"
FORM = re.compile(r"vsk_[A-Za-z0-9_-]{43}")
TOKEN_BYTES = 32
AT_MOST = 20
USUAL_DAYS, MOST_DAYS = 90, 365
LONGEST_LABEL = 100
# When a token was last used is written no more often: a program may show it with every request.
USE_SECONDS = 60 * 60


@dataclass(frozen=True, slots=True)
class Made:
    """A new token, and what its owner has to keep: nobody can show it again."""

    account: Account
    token: AccountToken
    secret: str = field(repr=False)


async def make_token(db: AsyncConnection, session: AccessClaims, label: str, days: int, now: datetime) -> Made:
    """A token of whoever has signed in; Conflict if they have too many."""
    account = await lock_account(db, session.sub)
    # An access token outlives its session by some minutes; what it makes would outlive it by months.
    if account is None or account.is_disabled or not await is_open_session(db, session.sid, now):
        raise Unauthenticated("The session is over: sign in again.", code="session_over")
    if len(await list_tokens(db, account.id, now)) >= AT_MOST:
        raise _too_many()
    return await _make(db, account, _printed(label), days, now)


async def exchange_token(db: AsyncConnection, account: Account, now: datetime) -> Made:
    """A token for somebody whom GitHub has just named; the oldest one that was made so gives way if there are too many.

    The account is locked by who has found it.
    """
    live = await list_tokens(db, account.id, now)
    if len(live) >= AT_MOST:
        oldest = next((each for each in live if each.label is None), None)
        if oldest is None:
            raise _too_many()
        await end_token(db, account.id, account.login, oldest.id, now)
    return await _make(db, account, None, USUAL_DAYS, now)


async def caller_by_token(
    db: AsyncConnection, shown: str, admin_logins: Collection[str], now: datetime
) -> Caller | None:
    """Who acts by showing this, with the role as it is now; None if it is no token, or none that is good."""
    found = await find_token(db, digest_of(shown.encode()), now) if FORM.fullmatch(shown) else None
    if found is None or found[1].is_disabled:
        return None
    token, account = found
    if token.last_used_at is None or now - token.last_used_at >= timedelta(seconds=USE_SECONDS):
        await note_use(db, token.id, now)
    role = (await keep_role(db, account, admin_logins)).role
    return Caller(account.id, account.login, is_admin=role is Role.SUPER_ADMIN, by_token=True)


async def end_token(db: AsyncConnection, account_id: UUID, login: str, token_id: UUID, now: datetime) -> None:
    """A token is taken back; NotFound if this account has no such token."""
    ended = await revoke_token(db, account_id, token_id, now)
    if ended is None:
        raise NotFound("You have no such token.", code="token_not_found")
    await record_audit(db, login, "token_revoked", login, _detail(ended))


async def sign_out_everywhere(db: AsyncConnection, caller: Caller, now: datetime) -> None:
    """Every session and every token of a person ends; Forbidden for who is no person."""
    account = await lock_account(db, caller.account_id) if caller.account_id else None
    if account is None:
        raise Forbidden("The key of the registry is nobody's: there is nothing to sign out of.", code="no_account")
    await revoke_proofs(db, [account.id], now)
    await record_audit(db, account.login, "sign_out_everywhere", account.login, {"account_id": str(account.id)})


async def _make(db: AsyncConnection, account: Account, label: str | None, days: int, now: datetime) -> Made:
    secret = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    token = AccountToken(new_id(), label, now, now + timedelta(days=days), last_used_at=None)
    await add_token(db, token, account.id, digest_of(secret.encode()))
    await record_audit(db, account.login, "token_created", account.login, _detail(token))
    return Made(account, token, secret)


def _printed(label: str) -> str:
    """In one line, with nothing that hides."""
    line = " ".join(label.split())
    if not line or not line.isprintable():
        raise Invalid("label: say in a few visible characters what the token is for.", code="bad_label")
    return line


def _detail(token: AccountToken) -> dict[str, object]:
    return {"token_id": str(token.id), "label": token.label, "expires_at": token.expires_at.isoformat()}


def _too_many() -> Conflict:
    return Conflict(f"You have {AT_MOST} tokens, which is the most: revoke one.", code="too_many_tokens")
