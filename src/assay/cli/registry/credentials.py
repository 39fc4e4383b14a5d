"""The one place that chooses the credentials of a request.

Commands that act for someone use, in this order: ASSAY_TOKEN, the login stored for that registry, the internal key of
this machine's own registry, nothing. Administrative commands prefer the internal key. Commands that only read use the
stored login: ASSAY_TOKEN is not bound to a registry, so it is sent only by commands that need an identity.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from assay import settings
from assay.cli.registry.address import is_local, is_own, login_command
from assay.cli.registry.stored_logins import find_login
from assay.model.errors import Forbidden, Unauthenticated
from assay.settings import Settings

INTERNAL_KEY_HEADER = "X-Internal-Key"


class Source(StrEnum):
    """The origin of a credential, as `assay whoami` prints it."""

    SETTING = "ASSAY_TOKEN"
    LOGIN = "assay login"
    INTERNAL_KEY = "the internal key"
    # A credential that `assay login` checks; it is not stored yet.
    NEW_LOGIN = "new login"
    NONE = "none"


@dataclass(frozen=True)
class Credential:
    """A token or key, and where it comes from. The secret is never printed."""

    source: Source
    secret: str = field(default="", repr=False)

    @property
    def headers(self) -> dict[str, str]:
        if not self.secret:
            return {}
        if self.source is Source.INTERNAL_KEY:
            return {INTERNAL_KEY_HEADER: self.secret}
        return {"Authorization": f"Bearer {self.secret}"}

    def refused(self, base_url: str, detail: str) -> Unauthenticated:
        """Return the error for a 401 response with this detail; it says how to get a valid credential."""
        match self.source:
            case Source.SETTING:
                reason = "it has expired, was revoked, or belongs to another registry"
                return Unauthenticated(f"{base_url} does not accept the token in ASSAY_TOKEN: {reason}.")
            case Source.LOGIN:
                command = login_command(base_url)
                return Unauthenticated(f"{base_url} no longer accepts your login: run {command} again.")
            case Source.INTERNAL_KEY:
                remedy = "set ASSAY_INTERNAL_KEY to the registry's key"
                return Unauthenticated(f"{base_url} does not accept this key: {remedy}.")
            case Source.NEW_LOGIN:
                return Unauthenticated(detail)
            case Source.NONE:
                return Unauthenticated(f"{detail} Run {login_command(base_url)}, or set ASSAY_TOKEN.")
            case _:
                assert_never(self.source)


ANONYMOUS = Credential(Source.NONE)


def reader_credential(base_url: str) -> Credential:
    """Return the stored login for this registry, or ANONYMOUS."""
    login = find_login(base_url)
    return ANONYMOUS if login is None else Credential(Source.LOGIN, login.token)


def acting_credential(base_url: str) -> Credential:
    """Return the credential of a command that submits, or ANONYMOUS."""
    config = settings.read()
    if config.token is not None:
        return Credential(Source.SETTING, config.token.get_secret_value())
    stored = reader_credential(base_url)
    if stored is not ANONYMOUS or not is_own(base_url):
        return stored
    if not is_local(base_url) and not settings.is_address_trusted(config):
        return ANONYMOUS
    try:
        return _internal_key(config) or ANONYMOUS
    except Forbidden:
        # Another user of the registry's machine.
        return ANONYMOUS


def admin_credential(base_url: str) -> Credential:
    """Return the internal key, or else a token. Raises Unauthenticated if there is neither.

    The key stored on this machine is used only for its own registry: for another one, it must be set explicitly.
    """
    config = settings.read()
    if is_own(base_url) and (key := _internal_key(config)) is not None:
        return key
    if config.internal_key is not None:
        return Credential(Source.INTERNAL_KEY, config.internal_key.get_secret_value())
    if config.token is not None:
        return Credential(Source.SETTING, config.token.get_secret_value())
    stored = reader_credential(base_url)
    if stored is ANONYMOUS:
        raise Unauthenticated(
            "This command requires the internal key of the registry or the token of an administrator: set"
            f" ASSAY_INTERNAL_KEY or ASSAY_TOKEN, or run {login_command(base_url)}."
        )
    return stored


def _internal_key(config: Settings) -> Credential | None:
    """Return the key in the settings, or else in the data directory. Raises Forbidden if it cannot be read."""
    try:
        if config.internal_key is None and settings.has_secrets(config):
            config = settings.with_secrets(config)
    except (OSError, ValueError, KeyError):
        raise Forbidden(f"The internal key in {config.data_dir} cannot be read by this user.") from None
    return Credential(Source.INTERNAL_KEY, config.internal_key.get_secret_value()) if config.internal_key else None
