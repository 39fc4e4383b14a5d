"""Where the registry is, and the key that opens its admin routes."""

import re

from pydantic import SecretStr

from assay import settings
from assay.model.errors import Forbidden, Invalid, Unauthenticated
from assay.settings.values import HTTP_URL


def address_of(url: str | None) -> str:
    """The address that is given, or that of this machine's registry; without a slash at its end."""
    base_url = (url or settings.read().base_url).rstrip("/")
    if not re.fullmatch(HTTP_URL, base_url):
        raise bad_address(base_url)
    return base_url


def bad_address(base_url: str) -> Invalid:
    """What is wrong with an address."""
    return Invalid(f"--url must look like http://127.0.0.1:8000, not {base_url!r}.")


def internal_key(url: str | None) -> SecretStr:
    """The key of this machine's registry; for one at another address, only what the environment gives."""
    chosen = settings.read()
    try:
        if url is None and settings.has_secrets(chosen):
            chosen = settings.with_secrets(chosen)
    except OSError:
        raise Forbidden(f"You may not read the key in {chosen.data_dir}.") from None
    if chosen.internal_key is None:
        raise Unauthenticated("This needs the key of the registry: set ASSAY_INTERNAL_KEY.")
    return chosen.internal_key
