"""`assay admin`: administrators who sign in with a password."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from assay import settings
from assay.accounts.admins import create_admin, disable_account
from assay.accounts.passwords import hash_password
from assay.app.app import database_url
from assay.cli.process.stopping import run_async
from assay.model.account import Account
from assay.model.errors import Invalid
from assay.store.database.database import Database, open_database
from assay.store.database.migrate import check_schema
from assay.store.people.accounts import list_admins

app = typer.Typer(no_args_is_help=True, help="Create, list and disable administrators.")
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
    """List the administrators."""
    run_async(_show())


@app.command("disable")
def disable(login: Login) -> None:
    """Disable an administrator. Open sessions end within 15 minutes."""
    run_async(_disable(login))
    print(f"{login} can no longer sign in.")


async def _create(login: str, password_hash: str) -> None:
    async with _database() as store, store.begin() as db:
        await create_admin(db, login, password_hash)


async def _show() -> None:
    async with _database() as store, store.begin() as db:
        admins = await list_admins(db)
    Console().print(_table(admins) if admins else "There is no administrator: create one with `assay admin create`.")


async def _disable(login: str) -> None:
    async with _database() as store, store.begin() as db:
        await disable_account(db, login, datetime.now(UTC))


@asynccontextmanager
async def _database() -> AsyncIterator[Database]:
    async with open_database(database_url(settings.read())) as store:
        await check_schema(store)
        yield store


def _table(admins: list[Account]) -> Table:
    table = Table("Login", "Signs in with", "Since", "State")
    for each in admins:
        method = "a password" if each.github_id is None else "GitHub"
        table.add_row(each.login, method, f"{each.created_at:%Y-%m-%d}", "disabled" if each.is_disabled else "enabled")
    return table


def _read_password(*, from_pipe: bool) -> str:
    if from_pipe:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("There is no terminal to ask for a password: use --password-stdin.")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt="Repeat the password")
    return password
