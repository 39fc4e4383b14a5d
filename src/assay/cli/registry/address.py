"""Where the registry is, and what proves to it who is asking."""

import re

from assay import settings
from assay.model.errors import Forbidden, Invalid, Unauthenticated
from assay.settings.values import HTTP_URL

KEY_HEADER = "X-Internal-Key"


def address_of(url: str | None) -> str:
    """The address that is given, or that of this machine's registry; without a slash at its end."""
    base_url = (url or settings.read().base_url).rstrip("/")
    if not re.fullmatch(HTTP_URL, base_url):
        raise bad_address(base_url)
    return base_url


def bad_address(base_url: str) -> Invalid:
    """What is wrong with an address."""
    return Invalid(f"--url must look like http://127.0.0.1:8000, not {base_url!r}.")


def own_proof() -> dict[str, str]:
    """The token of who is asking, as a header; nothing without one."""
    token = settings.read().token
    return {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}


def admin_proof(url: str | None) -> dict[str, str]:
    """The key of this machine's registry, as a header; for one at another address, only what the environment gives.

    Without a key it is the token of an administrator.
    """
    chosen = settings.read()
    try:
        if url is None and settings.has_secrets(chosen):
            chosen = settings.with_secrets(chosen)
    except OSError:
        raise Forbidden(f"You may not read the key in {chosen.data_dir}.") from None
    if chosen.internal_key is not None:
        return {KEY_HEADER: chosen.internal_key.get_secret_value()}
    if chosen.token is None:
        needed = "ASSAY_INTERNAL_KEY, or ASSAY_TOKEN to that of an administrator"
        raise Unauthenticated(f"This needs the key of the registry: set {needed}.")
    return own_proof()
