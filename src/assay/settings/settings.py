"""All settings of a registry, checked: a frozen value, or one clear error that names the variable."""

from collections.abc import Mapping
from typing import Self

from pydantic import ValidationError, model_validator

from assay.model.errors import Invalid
from assay.settings.deep_scan import DeepScanSettings
from assay.settings.discovery import DiscoverySettings
from assay.settings.github import GitHubSettings
from assay.settings.judge import JudgeSettings
from assay.settings.queue import QueueSettings
from assay.settings.server import ServerSettings
from assay.settings.variables import CONFIG_VARIABLE, PREFIX, field_of, variable

SECRET_FIELDS = ("internal_key", "jwt_secret", "webhook_secret")


class Settings(DeepScanSettings, DiscoverySettings, JudgeSettings, QueueSettings, GitHubSettings, ServerSettings):
    """All settings; each field is the variable of the same name in capitals, with the prefix ASSAY_."""

    @model_validator(mode="after")
    def _many_machines_bring_their_secrets(self) -> Self:
        missing = [variable(name) for name in SECRET_FIELDS if getattr(self, name) is None]
        if self.database_url is not None and missing:
            raise ValueError(f"{', '.join(missing)}: required when ASSAY_DATABASE_URL is set")
        return self

    @classmethod
    def from_mapping(cls, environment: Mapping[str, str], file: Mapping[str, object] | None = None) -> Self:
        """Settings from variables, which win, and the table of a TOML file."""
        unknown = [
            name
            for name in environment
            if name.startswith(PREFIX) and name != CONFIG_VARIABLE and field_of(name) not in cls.model_fields
        ]
        if unknown:
            raise Invalid(f"{unknown[0]}: there is no such setting", code="bad_setting")
        given = {field_of(name): value for name, value in environment.items() if field_of(name) in cls.model_fields}
        present = {name: value for name, value in given.items() if value != ""}
        try:
            return cls.model_validate({**(file or {}), **present})
        except ValidationError as problem:
            raise Invalid(_first_problem(problem), code="bad_setting") from None


def _first_problem(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    name = variable(str(first["loc"][0])) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"{first['loc'][0]}: there is no such setting"
    return f"{name}: {message}" if name else message
