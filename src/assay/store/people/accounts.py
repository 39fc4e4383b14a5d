"""Accounts: GitHub's, found by its number, and our own, found by their login."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, update
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
)
IS_LOCAL = account.c.github_id.is_(None)


async def find_account(db: AsyncConnection, account_id: UUID) -> Account | None:
    """The account of this id."""
    row = (await db.execute(select(*COLUMNS).where(account.c.id == account_id))).one_or_none()
    return account_of(row) if row else None


async def lock_account(db: AsyncConnection, account_id: UUID) -> Account | None:
    """The same; whatever else gives or takes its proofs waits until this transaction ends."""
    statement = select(*COLUMNS).where(account.c.id == account_id).with_for_update(key_share=True)
    row = (await db.execute(statement)).one_or_none()
    return account_of(row) if row else None


async def find_local(db: AsyncConnection, login: str) -> tuple[Account, str] | None:
    """Our own account of this login, in any case, and the hash of its password."""
    statement = select(*COLUMNS, account.c.password_hash).where(IS_LOCAL, func.lower(account.c.login) == login.lower())
    row = (await db.execute(statement)).one_or_none()
    return (account_of(row), row.password_hash) if row else None


async def add_local(db: AsyncConnection, account_id: UUID, login: str, password_hash: str) -> bool:
    """A new administrator with a password; False if the login is taken."""
    values = {"id": account_id, "login": login, "role": Role.SUPER_ADMIN, "password_hash": password_hash}
    added = await db.execute(upsert(account).values(values).on_conflict_do_nothing())
    return added.rowcount == 1


async def lock_github(db: AsyncConnection, github_id: int, login: str, new_id: UUID) -> tuple[Account, bool]:
    """The account of this person, locked and under its present login; whether it is new."""
    values = {"id": new_id, "github_id": github_id, "login": login, "role": Role.USER}
    added = await db.execute(upsert(account).values(values).on_conflict_do_nothing())
    renamed = update(account).where(account.c.github_id == github_id).values(login=login).returning(*COLUMNS)
    return account_of((await db.execute(renamed)).one()), added.rowcount == 1


async def set_role(db: AsyncConnection, account_id: UUID, role: Role) -> None:
    """What the account may do from now on."""
    await db.execute(update(account).where(account.c.id == account_id).values(role=role))


async def enable(db: AsyncConnection, account_id: UUID, password_hash: str) -> None:
    """Let a disabled account of ours in again, with a new password."""
    values = {"disabled_at": None, "password_hash": password_hash}
    await db.execute(update(account).where(account.c.id == account_id).values(values))


async def disable(db: AsyncConnection, login: str, now: datetime) -> list[Account]:
    """Close every account of this login, GitHub's and ours, and end their sessions and tokens."""
    named = (func.lower(account.c.login) == login.lower(), account.c.disabled_at.is_(None))
    closed = await db.execute(update(account).where(*named).values(disabled_at=now).returning(*COLUMNS))
    accounts = [account_of(row) for row in closed]
    await revoke_proofs(db, [each.id for each in accounts], now)
    return accounts


async def revoke_proofs(db: AsyncConnection, account_ids: Sequence[UUID], now: datetime) -> None:
    """No session and no token of these accounts is good any more."""
    for proof in (account_session, account_token):
        theirs = proof.c.account_id.in_(account_ids), proof.c.revoked_at.is_(None)
        await db.execute(update(proof).where(*theirs).values(revoked_at=now))


async def list_admins(db: AsyncConnection) -> list[Account]:
    """Everybody who is or was given the rights of an administrator, oldest first."""
    statement = select(*COLUMNS).where(account.c.role == Role.SUPER_ADMIN).order_by(account.c.created_at)
    return [account_of(row) for row in await db.execute(statement)]


def account_of(row: Row[*tuple[Any, ...]]) -> Account:
    """A row of COLUMNS as a value."""
    return Account(row.id, row.login, Role(row.role), row.github_id, row.created_at, row.disabled_at)
