"""Accounts as operators manage them: local administrators, roles, and disabling."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.handles import assign_local_handle
from assay.accounts.roles import grant_role
from assay.accounts.sign_in import check_login
from assay.model.account import Account, Role
from assay.model.errors import Conflict, NotFound
from assay.model.ids import new_id
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import (
    add_local_account,
    disable_accounts,
    enable_account,
    find_account,
    find_accounts,
    find_local_account,
    lock_account,
)

ACTOR = "command line"


async def create_admin(db: AsyncConnection, login: str, password_hash: str) -> None:
    """Create an administrator, or re-enable one with a new password; raises Conflict if the login is in use."""
    check_login(login)
    number = new_id()
    if await add_local_account(db, number, login, password_hash):
        added = await find_account(db, number)
        assert added is not None
        await assign_local_handle(db, added)
        return await record_audit(db, ACTOR, "account_created", login, {"with": "password", "role": "SUPER_ADMIN"})
    existing = await find_local_account(db, login)
    if existing is None or not existing[0].is_disabled:
        raise Conflict(f"An administrator {login} already exists. Disable it first to set another password.")
    await enable_account(db, existing[0].id, password_hash)
    return await record_audit(db, ACTOR, "account_enabled", login, {"account_id": str(existing[0].id)})


async def disable_account(db: AsyncConnection, login: str, now: datetime) -> int:
    """Disable all enabled accounts with this login, end their sessions, and return their number.

    Raises NotFound if there is none.
    """
    disabled = await disable_accounts(db, login, now)
    if not disabled:
        raise NotFound(f"There is no enabled account {login}.", code="account_not_found")
    for each in disabled:
        await record_audit(db, ACTOR, "account_disabled", each.login, {"account_id": str(each.id)})
    return len(disabled)


async def change_role(
    db: AsyncConnection, login_or_id: str, role: Role, admin_logins: Collection[str], actor: str
) -> Account:
    """Set the role of an account and return it. Raises NotFound, or Conflict if several accounts have the login."""
    found = await _find(db, login_or_id)
    account = await lock_account(db, found.id)
    assert account is not None, "accounts are never deleted"
    return await grant_role(db, account, role, admin_logins, actor)


async def _find(db: AsyncConnection, login_or_id: str) -> Account:
    found = await find_accounts(db, login_or_id)
    if not found:
        named = await find_account(db, _id(login_or_id))
        found = [named] if named else []
    match found:
        case []:
            raise NotFound(
                f"There is no account {login_or_id}. Accounts of GitHub exist from their first sign-in.",
                code="account_not_found",
            )
        case [account]:
            return account
        case several:
            ids = ", ".join(f"{each.id} ({each.sign_in_method})" for each in several)
            raise Conflict(f"Several accounts have the login {login_or_id}. Give an id: {ids}.", code="ambiguous")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)
