"""Two ways in: a password that is kept here, or GitHub's word for who somebody is."""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.login_throttle import attempt_key, count_sign_in
from assay.accounts.passwords import is_password
from assay.accounts.roles import give_role
from assay.accounts.sessions import Granted, start_session
from assay.accounts.signed_claims import Seal
from assay.github.oauth import GitHubUser
from assay.model.account import ANONYMOUS, Account
from assay.model.errors import Forbidden, Invalid, Unauthenticated
from assay.model.ids import new_id
from assay.store.database.database import Database
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import find_local, lock_github
from assay.store.people.attempts import forget_attempts

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Somebody at an address who says a name and a password."""

    login: str
    password: str = field(repr=False)
    address: str


async def sign_in_with_password(store: Database, attempt: Attempt, seal: Seal, now: datetime) -> Granted:
    """A session for the right password; Unauthenticated for a wrong one, Throttled after several."""
    check_login(attempt.login)
    await count_sign_in(store, attempt.login, attempt.address, now)
    async with store.begin() as db:
        account, stored = await find_local(db, attempt.login) or (None, None)
    # For unknown logins too, so that nobody learns which exist; in no transaction, because it takes a while.
    matches = await asyncio.to_thread(is_password, attempt.password, stored)
    async with store.begin() as db:
        if account is not None and matches and not account.is_disabled:
            await forget_attempts(db, attempt_key(attempt.login, attempt.address))
            return await _let_in(db, account, "password", seal, now)
        await record_audit(db, ANONYMOUS.name, "sign_in_failed", attempt.login)
    raise Unauthenticated("Login or password is wrong.", code="wrong_password")


async def sign_in_with_github(
    db: AsyncConnection, user: GitHubUser, admin_logins: Collection[str], seal: Seal, now: datetime
) -> Granted:
    """A session for the person whom GitHub has named."""
    return await _let_in(db, await know_by_github(db, user, admin_logins), "github", seal, now)


async def know_by_github(db: AsyncConnection, user: GitHubUser, admin_logins: Collection[str]) -> Account:
    """The account of the person whom GitHub knows by this number, whatever the login is today; a new one if need be."""
    account, is_new = await lock_github(db, user.id, user.login, new_id())
    if account.is_disabled:
        raise Forbidden("This account is disabled.", code="account_disabled")
    if is_new:
        await record_audit(db, account.login, "account_created", account.login, _detail(account, "github"))
    return await give_role(db, account, admin_logins)


def check_login(login: str) -> None:
    """Raises Invalid for what cannot be the login of an account of ours."""
    if not LOGIN.fullmatch(login):
        raise Invalid("login: letters, digits, dots, dashes and underscores, at most 64.", code="bad_login")


async def _let_in(db: AsyncConnection, account: Account, proof: str, seal: Seal, now: datetime) -> Granted:
    granted = await start_session(db, account, seal, now)
    await record_audit(db, account.login, "sign_in", account.login, _detail(account, proof))
    return granted


def _detail(account: Account, proof: str) -> dict[str, object]:
    return {"account_id": str(account.id), "with": proof, "role": account.role.value}
