"""All identities that calls to GitHub can be made with: tokens, and installations of a GitHub App."""

from collections.abc import Callable, Sequence
from pathlib import Path

import aiohttp
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from assay.github.auth import AppOptions, GitHubAuth, Identity
from assay.github.installation import GitHubApp, Installation
from assay.model.errors import Invalid


def open_identities(
    tokens: Sequence[str],
    app: AppOptions | None,
    session: aiohttp.ClientSession,
    api_url: str,
    clock: Callable[[], float],
) -> tuple[Identity, ...]:
    """Return tokens, then installations, in the configured order; raise Invalid if the App's key is unreadable."""
    plain = tuple(map(GitHubAuth, tokens))
    if app is None:
        return plain
    github_app = GitHubApp(app.id, _private_key(app.key_file))
    return (
        *plain,
        *(Installation(github_app, number, session, api_url, clock) for number in app.installations),
    )


def _private_key(file: Path) -> str:
    """Read an RSA key for RS256; errors name the setting and reveal nothing of the file."""
    try:
        pem = file.read_bytes()
        key = serialization.load_pem_private_key(pem, password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise Invalid("ASSAY_GITHUB_APP_KEY_FILE: must name a readable PEM file with an RSA key", code="bad_setting")
    return pem.decode("ascii")
