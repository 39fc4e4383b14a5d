"""The only reader of the environment, and of the secrets that were generated here."""

import json
import os
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from assay.model.errors import Invalid
from assay.model.files import write_once
from assay.settings.settings import SECRET_FIELDS, Settings
from assay.settings.variables import CONFIG_VARIABLE

SECRETS_FILE = "secrets.json"


def read() -> Settings:
    """Settings of this process: the environment over `assay.toml` (or the file that ASSAY_CONFIG names)."""
    environment = dict(os.environ)
    settings = Settings.from_mapping(environment, _read_file(environment.get(CONFIG_VARIABLE)))
    ruleset = settings.ruleset and settings.ruleset.expanduser().absolute()
    return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().absolute(), "ruleset": ruleset})


def with_secrets(settings: Settings) -> Settings:
    """The same settings with every secret present: given, or generated once into the data directory."""
    if all(getattr(settings, name) for name in SECRET_FIELDS):
        return settings
    file = settings.data_dir / SECRETS_FILE
    if not file.exists():
        write_once(file, json.dumps({name: secrets.token_urlsafe(48) for name in SECRET_FIELDS}).encode())
    kept = json.loads(file.read_text())
    filled = {name: getattr(settings, name) or SecretStr(kept[name]) for name in SECRET_FIELDS}
    return settings.model_copy(update=filled)


def has_secrets(settings: Settings) -> bool:
    """Whether secrets were generated here before: who only wants to use one must not make others."""
    return (settings.data_dir / SECRETS_FILE).exists()


def _read_file(named: str | None) -> Mapping[str, Any]:
    path = Path(named or "assay.toml")
    if not named and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise Invalid(f"{path}: cannot be read as settings: {problem}", code="bad_setting") from None
