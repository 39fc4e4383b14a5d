"""`assay whoami`: the account, the role and the token that commands act with."""

from assay.cli.process.stopping import run_command
from assay.cli.registry.account import AccountResponse, read_account
from assay.cli.registry.address import login_command
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.credentials import ANONYMOUS, acting_credential
from assay.cli.registry.errors import Json
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import open_console, print_json, print_line
from assay.model.errors import Unauthenticated

NONE = "–"


def whoami(url: Url = None, as_json: AsJson = False) -> None:
    """Show the account that commands act for, and its token.

    The token is ASSAY_TOKEN, or else that of `assay login`. On the machine of the registry, the operator needs neither.

    Exit codes:
    0  the registry accepts the token or key
    4  you are not signed in, or the token is no longer valid
    5  the registry is unavailable
    """
    run_command(_whoami(url, as_json=as_json))


async def _whoami(url: str | None, *, as_json: bool) -> None:
    async with open_registry(url, acting_credential) as registry:
        if registry.credential is ANONYMOUS:
            command = login_command(registry.base_url)
            raise Unauthenticated(f"You are not signed in at {registry.base_url}: run {command}, or set ASSAY_TOKEN.")
        account = await read_account(registry)
    if as_json:
        print_json(_document(registry, account))
    else:
        _print(registry, account)


def _print(registry: Registry, account: AccountResponse) -> None:
    console = open_console()
    print_line(console, f"{account.login} at {registry.base_url}")
    for label, value in _facts(registry, account).items():
        print_line(console, f"  {label + ':':<12}{value}")


def _facts(registry: Registry, account: AccountResponse) -> dict[str, str]:
    owned = ", ".join(f"{each.name} ({each.kind})" for each in account.namespaces)
    facts = {"handle": account.handle or NONE, "role": account.role, "namespaces": owned or NONE}
    if account.token is not None:
        limited = account.token.namespaces
        facts |= {
            "scopes": ", ".join(account.token.scopes) or NONE,
            **({} if limited is None else {"limited to": ", ".join(limited) or NONE}),
            "expires": f"{account.token.expires_at.astimezone():%Y-%m-%d %H:%M}" if account.token.expires_at else NONE,
        }
    return facts | {"credential": registry.credential.source.value}


def _document(registry: Registry, account: AccountResponse) -> Json:
    token = account.token
    return {
        "registry": registry.base_url,
        "credential": registry.credential.source.name.lower(),
        "login": account.login,
        "handle": account.handle,
        "role": account.role,
        "namespaces": [{"name": each.name, "kind": each.kind} for each in account.namespaces],
        "token": token
        and {
            "label": token.label,
            "scopes": token.scopes,
            "namespaces": token.namespaces,
            "expiresAt": token.expires_at and token.expires_at.isoformat(),
        },
    }
