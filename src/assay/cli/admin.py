"""`assay admin`: administrators who sign in with a password, and the roles of all accounts."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from assay import settings
from assay.accounts.admins import ACTOR, change_role, create_admin, disable_account
from assay.accounts.passwords import hash_password
from assay.app.app import database_url
from assay.cli.process.stopping import run_async
from assay.model.account import Account, Role
from assay.model.errors import Invalid
from assay.store.database.database import Database, open_database
from assay.store.database.migrate import check_schema
from assay.store.people.accounts import page_accounts_with_roles

app = typer.Typer(no_args_is_help=True, help="Create and disable administrators, and set the roles of accounts.")
PAGE = 500
Login = Annotated[str, typer.Argument(help="The login; case is ignored.")]


@app.command("create")
def create(
    login: Login,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
) -> None:
    """Create an administrator who signs in with a password, or enable a disabled one with a new password."""
    run_async(_create(login, hash_password(_read_password(from_pipe=password_stdin))))
    print(f"{login} can sign in.")


@app.command("list")
def show() -> None:
    """List the accounts that have a role: members, reviewers and administrators."""
    run_async(_show())


@app.command("disable")
def disable(login: Login) -> None:
    """Disable all accounts with this login. Their sessions and tokens end at once."""
    run_async(_disable(login))
    print(f"{login} can no longer sign in.")


@app.command("role")
def set_role(
    account: Annotated[str, typer.Argument(help="The login, or the id if several accounts have the login.")],
    role: Annotated[Role, typer.Argument(help="Each role includes those before it.", case_sensitive=False)],
) -> None:
    """Set the role of an account. It applies from the next request of the account.

    Members may submit if `ASSAY_SUBMIT` is `members`. Reviewers decide reviews, reports, suppressions and the
    blocklist. Administrators who sign in with GitHub are listed in `ASSAY_ADMIN_LOGINS`.
    """
    changed = run_async(_set_role(account, role))
    print(f"{changed.login} has the role {changed.role}.")


async def _create(login: str, password_hash: str) -> None:
    async with _database() as store, store.begin() as db:
        await create_admin(db, login, password_hash)


async def _show() -> None:
    async with _database() as store, store.begin() as db:
        found = page = await page_accounts_with_roles(db, None, PAGE)
        while len(page) == PAGE:
            page = await page_accounts_with_roles(db, page[-1].id, PAGE)
            found = [*found, *page]
    Console().print(_table(found) if found else "There is no administrator: create one with `assay admin create`.")


async def _disable(login: str) -> None:
    async with _database() as store, store.begin() as db:
        await disable_account(db, login, datetime.now(UTC))


async def _set_role(account: str, role: Role) -> Account:
    async with _database() as store, store.begin() as db:
        return await change_role(db, account, role, settings.read().admin_logins, ACTOR)


@asynccontextmanager
async def _database() -> AsyncIterator[Database]:
    async with open_database(database_url(settings.read())) as store:
        await check_schema(store)
        yield store


def _table(accounts: list[Account]) -> Table:
    table = Table("Login", "Signs in with", "Role", "Since", "State")
    for each in accounts:
        method = "a password" if each.github_id is None else "GitHub"
        state = "disabled" if each.is_disabled else "enabled"
        table.add_row(each.login, method, each.role.value, f"{each.created_at:%Y-%m-%d}", state)
    return table


def _read_password(*, from_pipe: bool) -> str:
    if from_pipe:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("There is no terminal to ask for a password: use --password-stdin.")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt="Repeat the password")
    return password
