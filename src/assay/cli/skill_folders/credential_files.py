"""Files whose purpose is to hold credentials: they are not uploaded unless the user asks for it.

A name is enough where a file of that name has no other purpose. Files that often hold no secret, such as `.npmrc` and
certificates, are recognised by their content.
"""

import re
from pathlib import PurePosixPath

from assay.cli.skill_folders.local_skill import LocalSkill, read_content
from assay.fetch.limits import Limits

ENVIRONMENT_PREFIX = ".env"
# Private keys of SSH, and the password files of tools.
NAMES = frozenset(
    {
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"),
        *(".netrc", "_netrc", ".git-credentials", ".pgpass", ".htpasswd", ".dockercfg", ".vault-token"),
    }
)
# The last two parts of the path: these names alone are common.
PATHS = frozenset({".aws/credentials", ".docker/config.json", ".kube/config"})
# Key stores and password databases.
SUFFIXES = frozenset({".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx"})
# Files that hold a private key if one begins anywhere in them.
KEY_SUFFIXES = frozenset({".pem", ".key", ".p8", ".crt", ".cer", ".asc"})
PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
# Settings of package managers and cloud tools, and the line that makes them a secret. A reference such as
# `${NPM_TOKEN}` is none.
SECRET_LINES = {
    ".npmrc": re.compile(rb"(?mi)^[^#;\n]*_(?:authtoken|auth|password)[ \t]*=[ \t]*(?!\$\{)\S"),
    ".yarnrc.yml": re.compile(rb"(?mi)^[^#\n]*npmAuth(?:Token|Ident)[\"']?[ \t]*:[ \t]*[\"']?(?!\$\{)[^\s\"']"),
    ".pypirc": re.compile(rb"(?mi)^[ \t]*password[ \t]*[=:][ \t]*\S"),
    ".json": re.compile(rb'"private_key"\s*:\s*"-----BEGIN '),
}


def credential_files(skill: LocalSkill, limits: Limits) -> list[str]:
    """Return the paths of the skill's files that hold credentials. Raises Invalid if a file cannot be read."""
    return [path for path in skill.files if _is_named(path) or _contains_secret(skill, path, limits)]


def _is_named(path: str) -> bool:
    """Return whether the file, or a folder on its path for `.env*`, has a name reserved for credentials."""
    lowered = PurePosixPath(path.lower())
    return (
        any(part.startswith(ENVIRONMENT_PREFIX) for part in lowered.parts)
        or lowered.name in NAMES
        or lowered.suffix in SUFFIXES
        or "/".join(lowered.parts[-2:]) in PATHS
    )


def _contains_secret(skill: LocalSkill, path: str, limits: Limits) -> bool:
    lowered = PurePosixPath(path.lower())
    content = read_content(skill.folder / path, limits)
    if PRIVATE_KEY.match(content.lstrip()):
        return True
    if lowered.suffix in KEY_SUFFIXES and PRIVATE_KEY.search(content):
        return True
    secret = SECRET_LINES.get(lowered.name) or SECRET_LINES.get(lowered.suffix)
    return secret is not None and secret.search(content) is not None
