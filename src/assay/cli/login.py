"""`assay login`: get or accept a token of a registry, check it and store it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Annotated

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.registry.account import THIS_TOKEN, AccountResponse, read_account
from assay.cli.registry.address import is_local, registry_url
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.credentials import Credential, Source
from assay.cli.registry.sign_in import token_for_github_token, token_for_password
from assay.cli.registry.stored_logins import StoredLogin, find_login, save_login
from assay.cli.ui.options import Url
from assay.cli.ui.secrets import checked_token, prompt_secret, read_secret_line
from assay.cli.ui.terminal import open_console, print_line, print_note
from assay.model.account import DEFAULT_SCOPES, Scope
from assay.model.errors import AssayError, Invalid

GetToken = Callable[[Registry], Awaitable[str]]


def login(
    name: Annotated[
        str | None, typer.Option("--login", metavar="NAME", help="Sign in to this local account with its password.")
    ] = None,
    scopes: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Scope of the token that --login creates: submit, publish, moderate or admin, always with read; may be"
            " repeated. Default: submit and publish.",
        ),
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password of --login from standard input.")
    ] = False,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read a token of the registry from standard input.")
    ] = False,
    github_token_stdin: Annotated[
        bool,
        typer.Option(
            "--github-token-stdin",
            help="Read a token that GitHub issued to the app of the registry from standard input, and exchange it.",
        ),
    ] = False,
    url: Url = None,
) -> None:
    """Sign in at a registry: store a token that other commands send to it.

    Without options, asks for a token of the registry. With --login, asks for a password and creates a token. The token
    is checked and stored in credentials.json in the folder assay of XDG_CONFIG_HOME or ~/.config, which only you can
    read. `assay logout` revokes it. If ASSAY_TOKEN is set, commands use that instead.

    Example: assay login --url https://registry.example.com --login alice
    """
    if [name is not None, token_stdin, github_token_stdin].count(True) > 1:
        raise Invalid("--login, --token-stdin and --github-token-stdin are alternatives: use one of them.")
    if name is None and (scopes or password_stdin):
        raise Invalid("--scope and --password-stdin require --login.")
    base_url = registry_url(url)
    _warn_about_plain_http(base_url)
    if name is not None:
        label, option = "Password", "--password-stdin"
        password = read_secret_line(label) if password_stdin else prompt_secret(label, option=option)
        wanted = [each for each in Scope if each in {Scope.READ, *(scopes or DEFAULT_SCOPES)}]
        get_token: GetToken = partial(token_for_password, login=name, password=password, scopes=wanted)
    elif github_token_stdin:
        get_token = partial(token_for_github_token, github_token=checked_token(read_secret_line("GitHub token")))
    else:
        label, option = "Token", "--token-stdin"
        given = checked_token(read_secret_line(label) if token_stdin else prompt_secret(label, option=option))
        get_token = partial(_given_token, token=given)
    run_command(_login(base_url, get_token, is_created=name is not None or github_token_stdin))


async def _given_token(_registry: Registry, token: str) -> str:
    return token


async def _login(base_url: str, get_token: GetToken, *, is_created: bool) -> None:
    """Get, check and store a token. A token that was created but cannot be stored is revoked."""
    replaced = find_login(base_url)
    async with open_registry(base_url, _checking("")) as registry:
        token = await get_token(registry)
    async with open_registry(base_url, _checking(token)) as registry:
        try:
            account = await read_account(registry)
            expires_at = account.token.expires_at if account.token else None
            file = save_login(base_url, StoredLogin(token, account.login, expires_at, is_created))
        except (AssayError, asyncio.CancelledError):
            if is_created:
                await _revoke(registry)
            raise
    if replaced is not None and replaced.is_created and replaced.token != token:
        async with open_registry(base_url, _checking(replaced.token)) as registry:
            await _revoke(registry)
    _print(base_url, account, str(file))


def _checking(token: str) -> Callable[[str], Credential]:
    return lambda _: Credential(Source.NEW_LOGIN, token)


async def _revoke(registry: Registry) -> None:
    """Revoke the token that authenticates the requests; if that fails, it expires."""
    with suppress(AssayError):
        await registry.delete(THIS_TOKEN)


def _print(base_url: str, account: AccountResponse, file: str) -> None:
    until = f"until {account.token.expires_at:%Y-%m-%d}" if account.token and account.token.expires_at else ""
    print_line(open_console(), f"Signed in at {base_url} as {account.title}", f"{until}.".strip())
    print_note(f"The token is stored in {file}, which only you can read.")
    if settings.read().token is not None:
        print_note("ASSAY_TOKEN is set: commands use that token instead of this login.")


def _warn_about_plain_http(base_url: str) -> None:
    """Print a note if secrets would cross a network without encryption."""
    if base_url.startswith("http://") and not is_local(base_url):
        print_note(f"The connection to {base_url} is not encrypted: others on the network can read the token.")
