"""All settings of a registry, read once from the environment and a TOML file, and validated."""

import json
import os
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import SecretStr, ValidationError, model_validator

from assay.model.errors import Invalid
from assay.scratch import write_once
from assay.settings.deep_scan import DeepScanSettings
from assay.settings.discovery import DiscoverySettings
from assay.settings.github import GitHubSettings
from assay.settings.judge import JudgeSettings
from assay.settings.limits import LimitSettings
from assay.settings.queue import QueueSettings
from assay.settings.server import ServerSettings

PREFIX = "ASSAY_"
CONFIG_VARIABLE = "ASSAY_CONFIG"
SECRET_FIELDS = ("internal_key", "jwt_secret", "webhook_secret")
SECRETS_FILE = "secrets.json"


def variable_name(field: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + field.upper()


def field_of(name: str) -> str:
    """Return the field of an environment variable; an empty string if it has another prefix."""
    return name.removeprefix(PREFIX).lower() if name.startswith(PREFIX) else ""


class Settings(
    DeepScanSettings,
    DiscoverySettings,
    JudgeSettings,
    QueueSettings,
    GitHubSettings,
    LimitSettings,
    ServerSettings,
):
    """All settings; the environment variable of a field is its name in capitals with the prefix ASSAY_."""

    @model_validator(mode="after")
    def _require_secrets(self) -> Self:
        missing = [variable_name(name) for name in SECRET_FIELDS if getattr(self, name) is None]
        if self.database_url is not None and missing:
            raise ValueError(f"{', '.join(missing)}: required when ASSAY_DATABASE_URL is set")
        return self

    @classmethod
    def from_mapping(cls, environment: Mapping[str, str], file: Mapping[str, object] | None = None) -> Self:
        """Validate variables, which take precedence, and the table of a TOML file. Raises Invalid."""
        unknown = [
            name
            for name in environment
            if name.startswith(PREFIX) and name != CONFIG_VARIABLE and field_of(name) not in cls.model_fields
        ]
        if unknown:
            raise Invalid(f"{unknown[0]}: there is no such setting", code="bad_setting")
        known = {field_of(name): value for name, value in environment.items() if field_of(name) in cls.model_fields}
        present = {name: value for name, value in known.items() if value != ""}
        try:
            return cls.model_validate({**(file or {}), **present})
        except ValidationError as problem:
            raise Invalid(_first_problem(problem), code="bad_setting") from None


def _first_problem(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    name = variable_name(str(first["loc"][0])) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"{first['loc'][0]}: there is no such setting"
    return f"{name}: {message}" if name else message


def read() -> Settings:
    """Read the environment and, below it, `assay.toml` or the file named by ASSAY_CONFIG. Raises Invalid."""
    environment = dict(os.environ)
    settings = Settings.from_mapping(environment, _read_file(environment.get(CONFIG_VARIABLE)))
    ruleset = settings.ruleset and settings.ruleset.expanduser().absolute()
    return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().absolute(), "ruleset": ruleset})


def with_secrets(settings: Settings) -> Settings:
    """Return the settings with all secrets: the given ones, or those generated once in the data directory."""
    if all(getattr(settings, name) for name in SECRET_FIELDS):
        return settings
    file = settings.data_dir / SECRETS_FILE
    if not file.exists():
        write_once(file, json.dumps({name: secrets.token_urlsafe(48) for name in SECRET_FIELDS}).encode())
    stored = json.loads(file.read_text())
    filled = {name: getattr(settings, name) or SecretStr(stored[name]) for name in SECRET_FIELDS}
    return settings.model_copy(update=filled)


def has_secrets(settings: Settings) -> bool:
    """Return whether secrets were generated on this machine; clients must not generate others."""
    return (settings.data_dir / SECRETS_FILE).exists()


def is_address_trusted(settings: Settings) -> bool:
    """Return whether a command may send the internal key to the address in these settings without being asked to.

    An `assay.toml` in the working directory may belong to a stranger's repository. The address in it gets only a key
    from below the same directory.
    """
    if os.environ.get(CONFIG_VARIABLE) or os.environ.get(variable_name("public_url")):
        return True
    file = _read_file(None)
    if "public_url" not in file and ("host" not in file or os.environ.get(variable_name("host"))):
        return True
    secrets_file = (settings.data_dir / SECRETS_FILE).resolve()
    return settings.internal_key is None and secrets_file.is_relative_to(Path.cwd().resolve())


def user_config_folder() -> Path | None:
    """Return the folder `assay` in XDG_CONFIG_HOME, or else in `~/.config`; None if the user has no home directory."""
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # The XDG specification requires that relative paths are ignored.
    if base.is_absolute():
        return base / "assay"
    try:
        return Path.home() / ".config" / "assay"
    except RuntimeError:
        return None


def _read_file(name: str | None) -> Mapping[str, Any]:
    path = Path(name or "assay.toml")
    if not name and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise Invalid(f"{path}: cannot be read as settings: {problem}", code="bad_setting") from None
