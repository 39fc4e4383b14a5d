"""The only reader of the environment: a frozen Settings, or one clear error that names the variable."""

import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from assay.model.errors import Invalid
from assay.model.files import write_once

PREFIX = "ASSAY_"
CONFIG_VARIABLE = "ASSAY_CONFIG"
SECRET_FIELDS = ("internal_key", "jwt_secret", "webhook_secret")
SECRETS_FILE = "secrets.json"
SHORTEST_SECRET = 32

HTTP_URL = r"^https?://[^\s/?#]+(/[^\s?#]*)?$"
HttpUrl = Annotated[str, Field(pattern=HTTP_URL)]


class Settings(BaseModel):
    """All settings; each field is the variable of the same name in capitals, with the prefix ASSAY_."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    data_dir: Path = Field(Path("data"), description="Embedded PostgreSQL, blobs, keys and generated secrets.")
    database_url: SecretStr | None = Field(
        None, description="Any PostgreSQL ≥ 15. Without it the embedded server in the data directory is used."
    )
    blobs_url: str | None = Field(
        None, description="Where file contents are kept: `s3://…`, `gs://…`, `az://…` or `file:///…`."
    )
    edge_url: SecretStr = Field(
        SecretStr("lmdb:"),
        description="Where the edge copy is kept: `lmdb:` in the data directory, `lmdb:/folder`, or `redis://…`.",
    )
    host: str = Field("127.0.0.1", description="The address the web process listens on.")
    port: int = Field(8000, ge=0, le=65535, description="The port the web process listens on.")
    public_url: HttpUrl | None = Field(None, description="The address people use, if not host and port.")
    internal_key: SecretStr | None = Field(None, description="Key of the admin API (`X-Internal-Key`).")
    internal_key_previous: SecretStr | None = Field(
        None, description="The key before, which stays valid while clients change to the new one."
    )
    jwt_secret: SecretStr | None = Field(None, description="Signs sessions of people.")
    webhook_secret: SecretStr | None = Field(None, description="Signs the results that scan nodes report.")
    github_tokens: tuple[SecretStr, ...] = Field(
        (), description="Tokens for GitHub, separated by commas. None: anonymous."
    )
    github_api_url: HttpUrl = Field("https://api.github.com", description="REST API.")
    github_raw_url: HttpUrl = Field("https://raw.githubusercontent.com", description="Raw files.")
    github_codeload_url: HttpUrl = Field("https://codeload.github.com", description="Archives.")
    github_web_url: HttpUrl = Field("https://github.com", description="The host of repository URLs that are accepted.")
    oauth_client_id: str | None = Field(None, description="OAuth app for sign-in with GitHub. None: no such sign-in.")
    oauth_client_secret: SecretStr | None = Field(None, description="Secret of the OAuth app.")
    admin_logins: tuple[str, ...] = Field((), description="GitHub logins that are administrators, separated by commas.")
    worker_batch: int = Field(10, ge=1, le=100, description="Jobs that a worker claims at once.")
    worker_concurrency: int = Field(
        20, ge=2, le=100, description="Batches in flight in a worker; 10 × 20 are 200 submissions."
    )
    scan_processes: int | None = Field(
        None, ge=1, le=256, description="Processes in which a worker scans. None: as many as there are cores."
    )
    enqueue_chunk: int = Field(100, ge=1, le=1000, description="Jobs of a bulk request that are one statement.")
    lease_seconds: int = Field(30, ge=2, le=3600, description="A worker silent for so long loses its jobs.")
    retry_seconds: int = Field(
        30, ge=0, le=3600, description="The n-th retry waits n times as long; three retries, then FAILED."
    )
    fast_approve_threshold: int = Field(75, ge=0, le=100, description="Scores above it need no LLM judge at first.")
    stuck_seconds: int = Field(
        300, ge=10, le=86400, description="A submission is stuck after so long in an active state."
    )
    stuck_received_seconds: int | None = Field(
        None, ge=10, le=604800, description="The same for submissions that wait. None: no other than the above."
    )
    oldest_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="An alarm is raised when a submission has waited for so long."
    )

    watch_seconds: int = Field(
        21_600, ge=0, le=2_592_000, description="Every listing is compared with its source so often. 0: never."
    )

    report_hours: int = Field(
        24, ge=1, le=8760, description="An alarm is raised when a security report has waited for so long."
    )
    review_hours: int = Field(
        168, ge=1, le=8760, description="An alarm is raised when a submission has waited for a reviewer for so long."
    )

    @field_validator("github_tokens", "admin_logins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("admin_logins")
    @classmethod
    def _are_logins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """In lower case, because GitHub's logins have none."""
        if wrong := [login for login in value if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", login)]:
            raise ValueError(f"{wrong[0]!r} is no GitHub login")
        return tuple(login.lower() for login in value)

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        parts = urlsplit(value.get_secret_value())
        if parts.scheme not in ("postgresql", "postgres"):
            raise ValueError("must look like postgresql://user:password@host:5432/name")
        if not parts.path.strip("/"):
            raise ValueError("must name a database, as in postgresql://host/name")
        return value

    @field_validator("edge_url")
    @classmethod
    def _is_an_edge(cls, value: SecretStr) -> SecretStr:
        if not re.fullmatch(r"lmdb:(/\S*)?|rediss?://[^\s/]+(/\d+)?(\?\S*)?", value.get_secret_value()):
            raise ValueError("must be lmdb:, lmdb:/folder or redis://user:password@host:6379/0")
        return value

    @field_validator(*SECRET_FIELDS, "internal_key_previous")
    @classmethod
    def _is_long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < SHORTEST_SECRET:
            raise ValueError(f"must have at least {SHORTEST_SECRET} characters")
        return value

    @model_validator(mode="after")
    def _many_machines_bring_their_secrets(self) -> Self:
        missing = [variable(name) for name in SECRET_FIELDS if getattr(self, name) is None]
        if self.database_url is not None and missing:
            raise ValueError(f"{', '.join(missing)}: required when ASSAY_DATABASE_URL is set")
        return self

    @model_validator(mode="after")
    def _an_oauth_app_is_complete(self) -> Self:
        if (self.oauth_client_id is None) != (self.oauth_client_secret is None):
            raise ValueError("ASSAY_OAUTH_CLIENT_ID, ASSAY_OAUTH_CLIENT_SECRET: set both or neither")
        return self

    @classmethod
    def from_mapping(cls, environment: Mapping[str, str], file: Mapping[str, object] | None = None) -> Self:
        """Settings from variables, which win, and the table of a TOML file."""
        unknown = [
            name
            for name in environment
            if name.startswith(PREFIX) and name != CONFIG_VARIABLE and _field(name) not in cls.model_fields
        ]
        if unknown:
            raise Invalid(f"{unknown[0]}: there is no such setting", code="bad_setting")
        given = {_field(name): value for name, value in environment.items() if _field(name) in cls.model_fields}
        present = {name: value for name, value in given.items() if value != ""}
        try:
            return cls.model_validate({**(file or {}), **present})
        except ValidationError as problem:
            raise Invalid(_first_problem(problem), code="bad_setting") from None

    @property
    def base_url(self) -> str:
        """The address under which people reach this registry."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def is_embedded(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url is None


def read() -> Settings:
    """Settings of this process: the environment over `assay.toml` (or the file that ASSAY_CONFIG names)."""
    environment = dict(os.environ)
    settings = Settings.from_mapping(environment, _read_file(environment.get(CONFIG_VARIABLE)))
    return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().absolute()})


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


def variable(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()


def _field(name: str) -> str:
    return name.removeprefix(PREFIX).lower() if name.startswith(PREFIX) else ""


def _read_file(named: str | None) -> Mapping[str, Any]:
    path = Path(named or "assay.toml")
    if not named and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise Invalid(f"{path}: cannot be read as settings: {problem}", code="bad_setting") from None


def _first_problem(problem: ValidationError) -> str:
    first = problem.errors(include_url=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    name = variable(str(first["loc"][0])) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"{first['loc'][0]}: there is no such setting"
    return f"{name}: {message}" if name else message
