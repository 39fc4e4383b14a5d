"""Tokens of accounts, found by their digest. The token itself is not stored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import DEFAULT_SCOPES, Account, Scope
from assay.store.people.accounts import COLUMNS as ACCOUNT_COLUMNS
from assay.store.people.accounts import account_of
from assay.store.tables import account, account_token


@dataclass(frozen=True, slots=True)
class AccountToken:
    """A token as shown to its owner. Tokens without a label were created by a token exchange."""

    id: UUID
    label: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    scopes: frozenset[Scope] = DEFAULT_SCOPES
    # None: all namespaces of the account.
    namespaces: frozenset[str] | None = None


COLUMNS = (
    account_token.c.id.label("token_id"),
    account_token.c.label,
    account_token.c.created_at.label("token_created_at"),
    account_token.c.expires_at,
    account_token.c.last_used_at,
    account_token.c.scopes,
    account_token.c.namespaces,
)


async def add_token(db: AsyncConnection, token: AccountToken, account_id: UUID, token_digest: str) -> None:
    values = {
        "id": token.id,
        "account_id": account_id,
        "token_digest": token_digest,
        "label": token.label,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "scopes": sorted(token.scopes),
        "namespaces": None if token.namespaces is None else sorted(token.namespaces),
    }
    await db.execute(insert(account_token).values(values))


async def find_token(db: AsyncConnection, token_digest: str, now: datetime) -> tuple[AccountToken, Account] | None:
    """Return a token that is neither expired nor revoked, and its account."""
    statement = (
        select(*COLUMNS, *ACCOUNT_COLUMNS)
        .select_from(account_token.join(account))
        .where(account_token.c.token_digest == token_digest, *_live(now))
    )
    row = (await db.execute(statement)).one_or_none()
    return (_token(row), account_of(row)) if row else None


async def list_tokens(db: AsyncConnection, account_id: UUID, now: datetime) -> list[AccountToken]:
    """Return the active tokens of an account, oldest first."""
    statement = select(*COLUMNS).where(account_token.c.account_id == account_id, *_live(now))
    return [_token(row) for row in await db.execute(statement.order_by(account_token.c.created_at, account_token.c.id))]


async def record_token_use(db: AsyncConnection, token_id: UUID, now: datetime) -> None:
    await db.execute(update(account_token).where(account_token.c.id == token_id).values(last_used_at=now))


async def revoke_token(db: AsyncConnection, account_id: UUID, token_id: UUID, now: datetime) -> AccountToken | None:
    """Revoke a token and return it; None if the account has no such active token."""
    is_active = account_token.c.id == token_id, account_token.c.account_id == account_id, *_live(now)
    revoked = await db.execute(update(account_token).where(*is_active).values(revoked_at=now).returning(*COLUMNS))
    row = revoked.one_or_none()
    return _token(row) if row else None


def _live(now: datetime) -> tuple[Any, ...]:
    return account_token.c.revoked_at.is_(None), account_token.c.expires_at > now


def _token(row: Row[*tuple[Any, ...]]) -> AccountToken:
    return AccountToken(
        row.token_id,
        row.label,
        row.token_created_at,
        row.expires_at,
        row.last_used_at,
        frozenset(map(Scope, row.scopes)),
        None if row.namespaces is None else frozenset(row.namespaces),
    )
