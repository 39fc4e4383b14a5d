"""Accounts: of GitHub users, identified by their GitHub id, and local ones, identified by login."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Role
from assay.store.tables import account, account_session, account_token

COLUMNS = (
    account.c.id,
    account.c.login,
    account.c.role,
    account.c.github_id,
    account.c.created_at,
    account.c.disabled_at,
    account.c.handle,
)
IS_LOCAL = account.c.github_id.is_(None)


async def find_account(db: AsyncConnection, account_id: UUID) -> Account | None:
    row = (await db.execute(select(*COLUMNS).where(account.c.id == account_id))).one_or_none()
    return account_of(row) if row else None


async def lock_account(db: AsyncConnection, account_id: UUID) -> Account | None:
    """Lock an account; other changes of its credentials wait until the end of the transaction."""
    statement = select(*COLUMNS).where(account.c.id == account_id).with_for_update(key_share=True)
    row = (await db.execute(statement)).one_or_none()
    return account_of(row) if row else None


async def find_local_account(db: AsyncConnection, login: str) -> tuple[Account, str] | None:
    """Return the local account with this login (case-insensitive) and its password hash."""
    statement = select(*COLUMNS, account.c.password_hash).where(IS_LOCAL, func.lower(account.c.login) == login.lower())
    row = (await db.execute(statement)).one_or_none()
    return (account_of(row), row.password_hash) if row else None


async def add_local_account(db: AsyncConnection, account_id: UUID, login: str, password_hash: str) -> bool:
    """Add an administrator with a password; False if the login is taken."""
    values = {"id": account_id, "login": login, "role": Role.SUPER_ADMIN, "password_hash": password_hash}
    added = await db.execute(upsert(account).values(values).on_conflict_do_nothing())
    return added.rowcount == 1


async def lock_github_account(db: AsyncConnection, github_id: int, login: str, new_id: UUID) -> tuple[Account, bool]:
    """Find or add the account of a GitHub user, update its login and lock it. Returns whether it is new."""
    values = {"id": new_id, "github_id": github_id, "login": login, "role": Role.USER}
    added = await db.execute(upsert(account).values(values).on_conflict_do_nothing())
    renamed = update(account).where(account.c.github_id == github_id).values(login=login).returning(*COLUMNS)
    return account_of((await db.execute(renamed)).one()), added.rowcount == 1


async def set_role(db: AsyncConnection, account_id: UUID, role: Role) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(role=role))


async def enable_account(db: AsyncConnection, account_id: UUID, password_hash: str) -> None:
    """Enable a disabled local account as an administrator with a new password."""
    values = {"disabled_at": None, "password_hash": password_hash, "role": Role.SUPER_ADMIN}
    await db.execute(update(account).where(account.c.id == account_id).values(values))


async def disable_accounts(db: AsyncConnection, login: str, now: datetime) -> list[Account]:
    """Disable all accounts with this login, local and of GitHub, and revoke their sessions and tokens."""
    is_named = (func.lower(account.c.login) == login.lower(), account.c.disabled_at.is_(None))
    disabled = await db.execute(update(account).where(*is_named).values(disabled_at=now).returning(*COLUMNS))
    accounts = [account_of(row) for row in disabled]
    await revoke_credentials(db, [each.id for each in accounts], now)
    return accounts


async def revoke_credentials(db: AsyncConnection, account_ids: Sequence[UUID], now: datetime) -> None:
    """Revoke all sessions and tokens of these accounts."""
    for credential in (account_session, account_token):
        is_active = credential.c.account_id.in_(account_ids), credential.c.revoked_at.is_(None)
        await db.execute(update(credential).where(*is_active).values(revoked_at=now))


async def find_accounts(db: AsyncConnection, login: str) -> list[Account]:
    """Return all accounts with this login (case-insensitive), local and of GitHub, including disabled ones."""
    statement = select(*COLUMNS).where(func.lower(account.c.login) == login.lower()).order_by(account.c.id)
    return [account_of(row) for row in await db.execute(statement)]


async def page_accounts_with_roles(db: AsyncConnection, after: UUID | None, limit: int) -> list[Account]:
    """Return accounts that were given a role, including disabled ones, oldest first."""
    # As text, so that the partial index fits: the planner does not compare it with a parameter.
    statement = select(*COLUMNS).where(text("role <> 'USER'")).order_by(account.c.id).limit(limit)
    statement = statement if after is None else statement.where(account.c.id > after)
    return [account_of(row) for row in await db.execute(statement)]


def account_of(row: Row[*tuple[Any, ...]]) -> Account:
    return Account(row.id, row.login, Role(row.role), row.github_id, row.created_at, row.disabled_at, row.handle)
