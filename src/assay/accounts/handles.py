"""Handles: the namespace in which the uploads of an account live."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account
from assay.model.errors import Conflict
from assay.model.namespace import HANDLE, NamespaceKind, checked_handle
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import lock_account
from assay.store.people.namespaces import add_account_namespace, find_namespace, set_handle, take_github_name
from assay.store.repositories.repositories import has_uploads


async def assign_login_as_handle(db: AsyncConnection, account: Account) -> None:
    """Give a GitHub account, whose login GitHub has just confirmed, the namespace of that login.

    An account that has uploads under another handle keeps it.
    """
    name = account.login.lower()
    if account.github_id is None or account.handle == name or not HANDLE.fullmatch(name):
        return
    if not await take_github_name(db, name, account.github_id):
        return
    if account.handle is None or not await has_uploads(db, account.handle):
        await set_handle(db, account.id, name)
        await record_audit(db, account.login, "handle_set", name, {"account_id": str(account.id), "by": "sign-in"})


async def assign_local_handle(db: AsyncConnection, account: Account) -> None:
    """Give a new local account its login as handle if that is possible; otherwise it has none."""
    name = account.login.lower()
    if account.handle is None and HANDLE.fullmatch(name) and await add_account_namespace(db, name, account.id):
        await set_handle(db, account.id, name)


async def choose_handle(db: AsyncConnection, account: Account, handle: str) -> str:
    """Set the handle of an account that has none, or whose handle has no uploads. Raises Invalid or Conflict.

    The caller has checked that the name is neither reserved nor a GitHub login of someone else.
    """
    name = checked_handle(handle)
    locked = await lock_account(db, account.id)
    assert locked is not None
    if locked.handle == name:
        return name
    if locked.handle is not None and await has_uploads(db, locked.handle):
        raise Conflict(f"Your uploads are in {locked.handle}. Move or delete them first.", code="handle_in_use")
    if not await _take(db, locked, name):
        raise Conflict(f"The name {name} is taken.", code="handle_taken")
    await set_handle(db, account.id, name)
    await record_audit(db, account.login, "handle_set", name, {"account_id": str(account.id), "by": "choice"})
    return name


async def _take(db: AsyncConnection, account: Account, name: str) -> bool:
    if account.github_id is not None and account.login.lower() == name:
        return await take_github_name(db, name, account.github_id)
    if await add_account_namespace(db, name, account.id):
        return True
    found = await find_namespace(db, name)
    return found is not None and found.kind is NamespaceKind.ACCOUNT and found.account_id == account.id
