"""Parts of the settings, and the kinds of values that they have."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

SHORTEST_SECRET = 32


class Part(BaseModel):
    """Settings of one part of the registry; checked with all others, and not by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, defer_build=True)


def _long_enough(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < SHORTEST_SECRET:
        raise ValueError(f"must have at least {SHORTEST_SECRET} characters")
    return value


def split(value: object) -> object:
    """What is separated by commas, if it is not split already."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


HTTP_URL = r"^https?://[^\s/?#]+(/[^\s?#]*)?$"
HttpUrl = Annotated[str, Field(pattern=HTTP_URL)]
Secret = Annotated[SecretStr, AfterValidator(_long_enough)]
Listed = BeforeValidator(split)
Words = Annotated[tuple[str, ...], Listed]
