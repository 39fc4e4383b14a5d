"""`assay logout`: revoke the stored token of a registry and forget it."""

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.registry.account import THIS_TOKEN
from assay.cli.registry.address import registry_url
from assay.cli.registry.client import open_registry
from assay.cli.registry.credentials import reader_credential
from assay.cli.registry.stored_logins import StoredLogin, find_login, forget_login
from assay.cli.ui.exit_codes import Exit, exit_code_for_error
from assay.cli.ui.options import Url
from assay.cli.ui.terminal import open_console, print_line, print_note
from assay.model.errors import AssayError, Unauthenticated


def logout(url: Url = None) -> None:
    """Revoke the token of `assay login` and forget it.

    The token is forgotten even if the registry does not answer; it then stays valid until it expires.

    Exit codes:
    0  the token is revoked or was not valid any more, or there was none
    5  the token is forgotten, but the registry did not answer
    """
    base_url = registry_url(url)
    stored = find_login(base_url)
    if stored is None:
        print_note(f"You are not signed in at {base_url}.")
    else:
        raise typer.Exit(run_command(_logout(base_url, stored)))
    _note_about_token()


async def _logout(base_url: str, stored: StoredLogin) -> Exit:
    code = Exit.DONE
    try:
        async with open_registry(base_url, reader_credential) as registry:
            await registry.delete(THIS_TOKEN)
    except Unauthenticated:
        pass  # expired or revoked before
    except AssayError as problem:
        until = f"until {stored.expires_at:%Y-%m-%d}" if stored.expires_at else "until it expires"
        print_note(f"{problem.message} The token was not revoked and stays valid {until}.")
        code = exit_code_for_error(problem)
    finally:
        forget_login(base_url)
    print_line(open_console(), f"Signed out of {base_url}; the token of {stored.login} is forgotten.")
    _note_about_token()
    return code


def _note_about_token() -> None:
    if settings.read().token is not None:
        print_note("ASSAY_TOKEN is still set: commands use that token.")
