"""The registry's URL and the credentials sent to it."""

import re

from assay import settings
from assay.model.errors import Forbidden, Invalid, Unauthenticated
from assay.settings.values import HTTP_URL

INTERNAL_KEY_HEADER = "X-Internal-Key"


def registry_url(url: str | None) -> str:
    """Return the given URL, or that of this machine's registry, without a trailing slash. Raises Invalid."""
    base_url = (url or settings.read().base_url).rstrip("/")
    if not re.fullmatch(HTTP_URL, base_url):
        raise invalid_url(base_url)
    return base_url


def invalid_url(base_url: str) -> Invalid:
    return Invalid(f"--url must look like http://127.0.0.1:8000, not {base_url!r}.")


def token_headers() -> dict[str, str]:
    """Return the personal token as a header, if one is set."""
    token = settings.read().token
    return {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}


def admin_headers(url: str | None) -> dict[str, str]:
    """Return the internal key as a header, or else the token of an administrator.

    The key stored on this machine is used only for its own registry: with `url`, the key must be set explicitly.
    """
    config = settings.read()
    try:
        if url is None and settings.has_secrets(config):
            config = settings.with_secrets(config)
    except OSError:
        raise Forbidden(f"The internal key in {config.data_dir} cannot be read by this user.") from None
    if config.internal_key is not None:
        return {INTERNAL_KEY_HEADER: config.internal_key.get_secret_value()}
    if config.token is None:
        needed = "ASSAY_INTERNAL_KEY, or ASSAY_TOKEN to the token of an administrator"
        raise Unauthenticated(f"This command requires the internal key of the registry: set {needed}.")
    return token_headers()
