"""Administrators with a password of ours, made by whoever can run commands beside the database."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.sign_in import check_login
from assay.model.errors import Conflict, NotFound
from assay.model.ids import new_id
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import add_local, disable, enable, find_local

ACTOR = "command line"


async def create_admin(db: AsyncConnection, login: str, password_hash: str) -> None:
    """A new administrator, or a disabled one back with a new password; Conflict if the login is in use."""
    check_login(login)
    if await add_local(db, new_id(), login, password_hash):
        return await record_audit(db, ACTOR, "account_created", login, {"with": "password", "role": "SUPER_ADMIN"})
    known = await find_local(db, login)
    if known is None or not known[0].is_disabled:
        raise Conflict(f"There is an administrator {login} already: disable it first to give it another password.")
    await enable(db, known[0].id, password_hash)
    return await record_audit(db, ACTOR, "account_enabled", login, {"account_id": str(known[0].id)})


async def disable_account(db: AsyncConnection, login: str, now: datetime) -> int:
    """Close every open account of this login and end its sessions; NotFound if there is none."""
    closed = await disable(db, login, now)
    if not closed:
        raise NotFound(f"There is no open account {login}.", code="account_not_found")
    for each in closed:
        await record_audit(db, ACTOR, "account_disabled", each.login, {"account_id": str(each.id)})
    return len(closed)
