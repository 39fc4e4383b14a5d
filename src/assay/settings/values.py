"""The base class of the groups of settings, and the types of their values."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

MIN_SECRET_LENGTH = 32


class SettingsGroup(BaseModel):
    """A group of settings; validated only as part of Settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, defer_build=True)


def _long_enough(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < MIN_SECRET_LENGTH:
        raise ValueError(f"must have at least {MIN_SECRET_LENGTH} characters")
    return value


def split_commas(value: object) -> object:
    """Split text at commas; return anything else unchanged."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


HTTP_URL = r"^https?://[^\s/?#]+(/[^\s?#]*)?$"
HttpUrl = Annotated[str, Field(pattern=HTTP_URL)]
Secret = Annotated[SecretStr, AfterValidator(_long_enough)]
CommaSeparated = BeforeValidator(split_commas)
Words = Annotated[tuple[str, ...], CommaSeparated]
