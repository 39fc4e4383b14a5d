"""Administrator accounts with a local password, managed by `assay admin` on a machine with database access."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.sign_in import check_login
from assay.model.errors import Conflict, NotFound
from assay.model.ids import new_id
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import add_local_account, disable_accounts, enable_account, find_local_account

ACTOR = "command line"


async def create_admin(db: AsyncConnection, login: str, password_hash: str) -> None:
    """Create an administrator, or re-enable one with a new password; raises Conflict if the login is in use."""
    check_login(login)
    if await add_local_account(db, new_id(), login, password_hash):
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
