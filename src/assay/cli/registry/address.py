"""The registry's URL."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from assay import settings
from assay.model.errors import Invalid
from assay.settings.values import HTTP_URL


def registry_url(url: str | None) -> str:
    """Return the given URL, or that of this machine's registry, without a trailing slash. Raises Invalid."""
    base_url = (url or settings.read().base_url).rstrip("/")
    if not re.fullmatch(HTTP_URL, base_url):
        raise invalid_url(base_url)
    return base_url


def invalid_url(base_url: str) -> Invalid:
    return Invalid(f"--url must look like http://127.0.0.1:8000, not {base_url!r}.")


def is_own(base_url: str) -> bool:
    """Return whether this is the registry of this machine's settings, by its public or its local address."""
    config = settings.read()
    return base_url in (config.base_url, config.model_copy(update={"public_url": None}).base_url)


def is_local(base_url: str) -> bool:
    """Return whether the URL names this machine by a loopback or unspecified address."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return host == "localhost"


def login_command(base_url: str) -> str:
    """Return the command that signs in at this registry."""
    return "`assay login`" if base_url == registry_url(None) else f"`assay login --url {base_url}`"
