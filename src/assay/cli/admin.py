"""`assay admin`: administrators with a password of this registry's own."""

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
from assay.app.database import database_url
from assay.cli.process.stopping import run_until_done
from assay.model.account import Account
from assay.model.errors import Invalid
from assay.store.database.database import Database, open_database
from assay.store.database.migrate import check_schema
from assay.store.people.accounts import list_admins

app = typer.Typer(no_args_is_help=True, help="Administrators: create, list, disable.")
Login = Annotated[str, typer.Argument(help="The login, in any case.")]


@app.command("create")
def create(
    login: Login,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from a pipe.")] = False,
) -> None:
    """Make an administrator who signs in with a password; a disabled one comes back with the new password."""
    run_until_done(_create(login, hash_password(_read_password(from_pipe=password_stdin))))
    print(f"{login} can sign in.")


@app.command("list")
def show() -> None:
    """Show who is an administrator."""
    run_until_done(_show())


@app.command("disable")
def disable(login: Login) -> None:
    """Close the account of this login and end its sessions, at the latest in 15 minutes."""
    run_until_done(_disable(login))
    print(f"{login} cannot sign in any more.")


async def _create(login: str, password_hash: str) -> None:
    async with _database() as store, store.begin() as db:
        await create_admin(db, login, password_hash)


async def _show() -> None:
    async with _database() as store, store.begin() as db:
        admins = await list_admins(db)
    Console().print(_table(admins) if admins else "There is no administrator: `assay admin create LOGIN` makes one.")


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
        proof = "a password" if each.github_id is None else "GitHub"
        table.add_row(each.login, proof, f"{each.created_at:%Y-%m-%d}", "disabled" if each.is_disabled else "open")
    return table


def _read_password(*, from_pipe: bool) -> str:
    if from_pipe:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("There is no terminal to ask for a password at: use --password-stdin.")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt="Once more")
    return password
