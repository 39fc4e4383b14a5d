"""The account that a credential belongs to, and the note in whose name a command acts."""

from datetime import datetime

from assay import settings
from assay.cli.registry.address import is_local, is_own, login_command
from assay.cli.registry.client import Registry
from assay.cli.registry.credentials import ANONYMOUS, Source
from assay.cli.registry.responses import RegistryModel, read_response
from assay.cli.ui.terminal import print_note
from assay.model.errors import NotFound, Unauthenticated, Unavailable
from assay.model.namespace import OPERATOR_NAMESPACE

ACCOUNT = "/api/v1/account"
THIS_TOKEN = f"{ACCOUNT}/tokens/current"


class NamespaceResponse(RegistryModel, frozen=True):
    name: str
    kind: str


class TokenResponse(RegistryModel, frozen=True):
    """The token that authenticates the request. Without `namespaces` it is valid for all of the account's."""

    label: str | None = None
    scopes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] | None = None
    expires_at: datetime | None = None


class AccountResponse(RegistryModel, frozen=True):
    login: str
    role: str
    handle: str | None = None
    namespaces: tuple[NamespaceResponse, ...] = ()
    token: TokenResponse | None = None

    @property
    def title(self) -> str:
        """The login, and the namespace of uploads."""
        return f"{self.login} (namespace {self.handle})" if self.handle else f"{self.login} (without a namespace)"


async def read_account(registry: Registry) -> AccountResponse:
    """Return the account of the credential. Raises Unavailable if the registry is of an earlier release."""
    try:
        return read_response(AccountResponse, await registry.get(ACCOUNT))
    except NotFound:
        message = f"{registry.base_url} runs an earlier release, which does not support logins: set ASSAY_TOKEN."
        raise Unavailable(message, code="no_logins") from None


async def announce(registry: Registry, *, uploads: bool) -> None:
    """Print in whose name the command acts. Raises Unauthenticated if it uploads without a credential."""
    if registry.credential is ANONYMOUS and not uploads:
        return
    account = None
    try:
        account = read_response(AccountResponse, await registry.get(ACCOUNT))
    except NotFound:
        pass  # a registry of an earlier release
    except Unauthenticated:
        if registry.credential is not ANONYMOUS:
            raise
    if registry.credential is ANONYMOUS:
        raise _upload_refused(registry.base_url)
    print_note(_acting_as(registry.credential.source, account))


def _acting_as(source: Source, account: AccountResponse | None) -> str:
    if source is Source.INTERNAL_KEY:
        return f"Acting as the operator of this registry (namespace {OPERATOR_NAMESPACE})."
    if account is None:
        return "Acting with the token in ASSAY_TOKEN." if source is Source.SETTING else "Acting with your stored login."
    return f"Acting as {account.title}."


def _upload_refused(base_url: str) -> Unauthenticated:
    login = login_command(base_url)
    if not is_own(base_url):
        return Unauthenticated(f"Uploads to {base_url} need a token: get one with {login}, or set ASSAY_TOKEN.")
    remedy = "set ASSAY_DATA_DIR to its data directory, which this user must be allowed to read"
    if not is_local(base_url) and not settings.is_address_trusted(settings.read()):
        remedy = "and if you trust the assay.toml in this directory, set ASSAY_CONFIG=assay.toml"
    return Unauthenticated(
        f"Uploads to {base_url} need an account: run {login}. To act as the operator of this registry, {remedy}."
    )
