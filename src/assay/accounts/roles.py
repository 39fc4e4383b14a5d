"""Roles of accounts.

Accounts of GitHub are administrators while the settings list their logins; every other role is granted by an
administrator (`assay admin role`) and kept until it is changed.
"""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Role
from assay.model.errors import Conflict
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import set_role

ACTOR = "settings"


async def assign_role(db: AsyncConnection, account: Account, admin_logins: Collection[str]) -> Account:
    """Apply the settings to an account whose login GitHub has just confirmed; a granted role is kept."""
    if _is_named(account, admin_logins):
        return await _change(db, account, Role.SUPER_ADMIN, ACTOR)
    return await recheck_role(db, account, admin_logins)


async def recheck_role(db: AsyncConnection, account: Account, admin_logins: Collection[str]) -> Account:
    """Demote an administrator of GitHub that the settings no longer list. Never promotes: an unconfirmed login may have
    passed to another person.
    """
    is_demoted = account.role is Role.SUPER_ADMIN and account.github_id is not None
    if not is_demoted or _is_named(account, admin_logins):
        return account
    return await _change(db, account, Role.USER, ACTOR)


async def grant_role(
    db: AsyncConnection, account: Account, role: Role, admin_logins: Collection[str], actor: str
) -> Account:
    """Set the role of a locked account; it is effective for its next request.

    Raises Conflict for administrators of GitHub, because the next sign-in would undo the change.
    """
    if account.github_id is not None and (role is Role.SUPER_ADMIN or _is_named(account, admin_logins)):
        raise Conflict(
            f"{account.login} signs in with GitHub: ASSAY_ADMIN_LOGINS decides whether it is an administrator.",
            code="role_of_settings",
        )
    return await _change(db, account, role, actor)


def _is_named(account: Account, admin_logins: Collection[str]) -> bool:
    return account.github_id is not None and account.login.lower() in admin_logins


async def _change(db: AsyncConnection, account: Account, role: Role, actor: str) -> Account:
    if role is account.role:
        return account
    await set_role(db, account.id, role)
    detail = {"from": account.role.value, "to": role.value, "account_id": str(account.id)}
    await record_audit(db, actor, "role_changed", account.login, detail)
    return replace(account, role=role)
