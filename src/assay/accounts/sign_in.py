"""Signing in with a local password or with GitHub."""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.handles import assign_login_as_handle
from assay.accounts.passwords import verify_password
from assay.accounts.rate_limit import SignInLimits, sign_in_key, throttle_sign_in
from assay.accounts.roles import assign_role
from assay.accounts.sessions import SessionTokens, start_session
from assay.accounts.signed_claims import ClaimsSigner
from assay.github.oauth import GitHubUser
from assay.model.account import ANONYMOUS, Account
from assay.model.errors import Forbidden, Invalid, Unauthenticated
from assay.model.ids import new_id
from assay.store.database.database import Database
from assay.store.operations.audit import record_audit
from assay.store.people.accounts import find_local_account, lock_github_account
from assay.store.people.rate_counters import reset_counter

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login and password, with the address and user agent of the client."""

    login: str
    password: str = field(repr=False)
    address: str
    user_agent: str | None = None


async def sign_in_with_password(
    store: Database, attempt: Attempt, limits: SignInLimits, signer: ClaimsSigner, now: datetime
) -> SessionTokens:
    """Start a session. Raises Unauthenticated for a wrong password, Throttled after too many attempts."""
    check_login(attempt.login)
    await throttle_sign_in(store, attempt.login, attempt.address, limits, now)
    async with store.begin() as db:
        account, stored = await find_local_account(db, attempt.login) or (None, None)
    # Unknown logins are hashed too, so that timing does not reveal which exist. Slow, so outside a transaction.
    matches = await asyncio.to_thread(verify_password, attempt.password, stored)
    async with store.begin() as db:
        if account is not None and matches and not account.is_disabled:
            await reset_counter(db, sign_in_key(attempt.login, attempt.address))
            return await _start(db, account, "password", signer, now, attempt.user_agent)
        await record_audit(db, ANONYMOUS.name, "sign_in_failed", attempt.login)
    raise Unauthenticated("Login or password is wrong.", code="wrong_password")


async def sign_in_with_github(
    db: AsyncConnection,
    user: GitHubUser,
    admin_logins: Collection[str],
    signer: ClaimsSigner,
    now: datetime,
    user_agent: str | None = None,
) -> SessionTokens:
    """Start a session for the user that GitHub has authenticated."""
    account = await find_or_create_github_account(db, user, admin_logins)
    return await _start(db, account, "github", signer, now, user_agent)


async def find_or_create_github_account(
    db: AsyncConnection, user: GitHubUser, admin_logins: Collection[str]
) -> Account:
    """Lock and return the account with this GitHub user id, creating it if needed; logins may change.

    Raises Forbidden if it is disabled.
    """
    account, is_new = await lock_github_account(db, user.id, user.login, new_id())
    if account.is_disabled:
        raise Forbidden("This account is disabled.", code="account_disabled")
    if is_new:
        await record_audit(db, account.login, "account_created", account.login, _detail(account, "github"))
    await assign_login_as_handle(db, account)
    return await assign_role(db, account, admin_logins)


def check_login(login: str) -> None:
    """Raise Invalid unless this is a valid login for a local account."""
    if not LOGIN.fullmatch(login):
        raise Invalid(
            "login: use 1 to 64 letters, digits, dots, dashes or underscores, starting with a letter or digit.",
            code="bad_login",
        )


async def _start(
    db: AsyncConnection, account: Account, proof: str, signer: ClaimsSigner, now: datetime, user_agent: str | None
) -> SessionTokens:
    tokens = await start_session(db, account, signer, now, user_agent)
    await record_audit(db, account.login, "sign_in", account.login, _detail(account, proof))
    return tokens


def _detail(account: Account, proof: str) -> dict[str, object]:
    return {"account_id": str(account.id), "with": proof, "role": account.role.value}
