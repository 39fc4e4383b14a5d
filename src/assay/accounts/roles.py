"""The administrator role. Local accounts have it until disabled, GitHub accounts while the settings list them."""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Role
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import set_role


async def assign_role(db: AsyncConnection, account: Account, admin_logins: Collection[str]) -> Account:
    """Set the role from the settings, for an account whose login GitHub has just confirmed."""
    named = account.login.lower() in admin_logins
    return await _change(db, account, Role.SUPER_ADMIN if named else Role.USER)


async def recheck_role(db: AsyncConnection, account: Account, admin_logins: Collection[str]) -> Account:
    """Demote a GitHub account that the settings no longer list. Never promotes: an unconfirmed login may have passed
    to another person.
    """
    named = account.login.lower() in admin_logins
    return account if account.github_id is None or named else await _change(db, account, Role.USER)


async def _change(db: AsyncConnection, account: Account, role: Role) -> Account:
    if role is account.role:
        return account
    await set_role(db, account.id, role)
    detail = {"from": account.role.value, "to": role.value, "account_id": str(account.id)}
    await record_audit(db, "settings", "role_changed", account.login, detail)
    return replace(account, role=role)
