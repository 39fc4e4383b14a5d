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

from assay.github.auth import AppOptions
from assay.model.deep_scan import DeepTool
from assay.model.discovery import MOST_RESULTS, SOURCE_NAMES, RegistryKind
from assay.model.errors import Invalid
from assay.model.files import write_once
from assay.model.repository import Host, RepositoryName

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
    github_app_id: str | None = Field(
        None, pattern=r"^[\w.-]{1,100}$", description="GitHub App whose installations are used beside the tokens."
    )
    github_app_key_file: Path | None = Field(None, description="File with the App's private key (PEM).")
    github_app_installations: tuple[int, ...] = Field(
        (), description="Numbers of the App's installations, separated by commas."
    )
    github_api_url: HttpUrl = Field("https://api.github.com", description="REST API.")
    github_raw_url: HttpUrl = Field("https://raw.githubusercontent.com", description="Raw files.")
    github_codeload_url: HttpUrl = Field("https://codeload.github.com", description="Archives.")
    github_web_url: HttpUrl = Field("https://github.com", description="The host of repository URLs that are accepted.")
    git_hosts: tuple[str, ...] = Field(
        ("gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"),
        description="Other git hosts of which repositories are accepted, separated by commas.",
    )
    archive_cache_mb: int = Field(
        1024, ge=0, le=1_048_576, description="Archives of repositories that are kept in the data directory. 0: none."
    )
    oauth_client_id: str | None = Field(None, description="OAuth app for sign-in with GitHub. None: no such sign-in.")
    oauth_client_secret: SecretStr | None = Field(None, description="Secret of the OAuth app.")
    admin_logins: tuple[str, ...] = Field((), description="GitHub logins that are administrators, separated by commas.")
    trusted_publishers: tuple[str, ...] = Field(
        (),
        description="Owners on GitHub whose skills carry a label, separated by commas; examined all the same.",
    )
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
    llm_url: HttpUrl | None = Field(
        None, description="The judge: an endpoint that speaks OpenAI's chat completions, up to `/v1`. None: no judge."
    )
    llm_model: str | None = Field(None, min_length=1, max_length=200, description="The model that is asked for.")
    llm_api_key: SecretStr | None = Field(None, description="The key of the endpoint, if it wants one.")
    llm_daily_budget: float | None = Field(
        5.0,
        ge=0,
        le=1_000_000,
        description="So much may be spent a day, in the unit of the prices; then the judge waits.",
    )
    llm_prompt_price: float = Field(0.0, ge=0, le=10_000, description="The price of a million tokens that are sent.")
    llm_completion_price: float = Field(0.0, ge=0, le=10_000, description="The price of a million tokens of answers.")
    llm_timeout_seconds: float = Field(60.0, ge=0.05, le=600, description="How long one answer may take.")
    llm_window_tokens: int = Field(
        32_000, ge=8_000, le=2_000_000, description="What the model can read at once; more is read in parts."
    )
    llm_concurrency: int = Field(8, ge=1, le=200, description="Questions under way at once in a worker.")
    llm_pause_seconds: int = Field(
        30, ge=0, le=3600, description="A judge that fails is left alone for so long, and submissions wait as long."
    )
    llm_patience_seconds: int = Field(
        21_600, ge=0, le=2_592_000, description="A judge that fails for so long is not waited for: a person looks."
    )
    hallmark_key_file: Path | None = Field(
        None, description="The Ed25519 key of hallmarks and signed answers. None: one in the data directory."
    )
    oms_key_file: Path | None = Field(
        None, description="The P-256 key of `skill.oms.sig`. None: one in the data directory."
    )
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

    github_webhook_secret: SecretStr | None = Field(
        None, description="Signs what GitHub tells of repositories. None: webhooks of GitHub are not taken."
    )
    discovery: bool = Field(False, description="Whether `assay up` looks for skills, too.")
    discovery_sources: tuple[str, ...] = Field(
        SOURCE_NAMES, description="Where skills are looked for, separated by commas."
    )
    discovery_topics: tuple[str, ...] = Field(
        ("agent-skills", "agent-skill", "claude-skills", "claude-code-skills", "skill-md"),
        description="Topics of repositories that may hold skills.",
    )
    discovery_organisations: tuple[str, ...] = Field(
        (), description="Organisations and people all of whose repositories are looked into."
    )
    discovery_npm_url: HttpUrl | None = Field(
        None, description="A registry of npm, whose packages are searched by keyword. None: they are not."
    )
    discovery_npm_keywords: tuple[str, ...] = Field(
        ("agent-skills", "agent-skill", "claude-skill"), description="Keywords of packages that may hold skills."
    )
    discovery_registries: tuple[str, ...] = Field(
        (), description="Other registries, as `well-known+https://…`, `skills-sh+https://…` or `assay+https://…`."
    )
    discovery_list: str | None = Field(
        None, description="A list of repositories, one a line: a file, or an https address."
    )
    discovery_known: tuple[str, ...] = Field(
        (), description="Repositories (`owner/name`) that discovery must find. None: those of the starter catalogue."
    )
    discovery_max_results: int = Field(
        MOST_RESULTS, ge=1, le=MOST_RESULTS, description="New repositories that a run takes at the most."
    )
    discovery_calls: int = Field(
        1_000, ge=10, le=100_000, description="Calls that a source may make in a run, and so in an hour."
    )
    discovery_every_seconds: int = Field(21_600, ge=60, le=2_592_000, description="How often a source is read.")
    discovery_floor_seconds: int = Field(
        172_800, ge=60, le=7_776_000, description="An alarm is raised when a source has found nothing new for so long."
    )
    discovery_private_addresses: bool = Field(
        False, description="Whether lists and registries may be on private addresses, and without https."
    )
    deep_scan_tools: tuple[DeepTool, ...] = Field(
        (DeepTool.SEMGREP, DeepTool.NJSSCAN, DeepTool.KINGFISHER),
        description="The external tools that look at what is published, separated by commas; `none` for none.",
    )
    deep_scan_lease_seconds: int = Field(
        120, ge=5, le=3600, description="A scan node silent for so long loses its scans."
    )
    deep_scan_waiting_seconds: int = Field(
        3600, ge=60, le=604800, description="An alarm is raised when a deep scan has waited for so long."
    )
    deep_scan_dir: Path | None = Field(
        None, description="Where the scan tools are installed. None: `deepscan` beside the Python that runs Assay."
    )
    report_hours: int = Field(
        24, ge=1, le=8760, description="An alarm is raised when a security report has waited for so long."
    )
    review_hours: int = Field(
        168, ge=1, le=8760, description="An alarm is raised when a submission has waited for a reviewer for so long."
    )

    @field_validator("deep_scan_tools", mode="before")
    @classmethod
    def _none_is_none(cls, value: object) -> object:
        if isinstance(value, str):
            return () if value.strip() == "none" else tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator(
        "github_tokens",
        "github_app_installations",
        "git_hosts",
        "admin_logins",
        "trusted_publishers",
        "discovery_sources",
        "discovery_topics",
        "discovery_organisations",
        "discovery_npm_keywords",
        "discovery_registries",
        "discovery_known",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("admin_logins", "trusted_publishers")
    @classmethod
    def _are_logins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """In lower case, because GitHub's logins have none."""
        if wrong := [login for login in value if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", login)]:
            raise ValueError(f"{wrong[0]!r} is no GitHub login")
        return tuple(login.lower() for login in value)

    @field_validator("git_hosts")
    @classmethod
    def _are_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the DNS; a port is allowed for servers on this machine, which are spoken to without encryption."""
        form = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*|(?:127\.0\.0\.1|localhost):[0-9]{1,5}"
        if wrong := [host for host in value if not re.fullmatch(form, host.lower())]:
            raise ValueError(f"{wrong[0]!r} is not the name of a host, such as gitlab.com")
        return tuple(dict.fromkeys(host.lower() for host in value))

    @field_validator("discovery_sources")
    @classmethod
    def _are_sources(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := sorted(set(value) - set(SOURCE_NAMES)):
            raise ValueError(f"{wrong[0]!r} is no source; there are {', '.join(SOURCE_NAMES)}")
        return value

    @field_validator("discovery_topics", "discovery_npm_keywords", "discovery_organisations")
    @classmethod
    def _are_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """They become part of a question, so they must not be able to change it."""
        if wrong := [word for word in value if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", word)]:
            raise ValueError(f"{wrong[0]!r} is no topic, keyword or login")
        return value

    @field_validator("discovery_registries")
    @classmethod
    def _are_registries(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        kinds = "|".join(RegistryKind)
        if wrong := [each for each in value if not re.fullmatch(rf"({kinds})\+https?://[^\s/?#@]+(/[^\s?#]*)?", each)]:
            raise ValueError(f"{wrong[0]!r} must look like well-known+https://skills.example.com")
        return tuple(each.rstrip("/") for each in value)

    @field_validator("discovery_known")
    @classmethod
    def _are_repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [each for each in value if not re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", each, re.ASCII)]:
            raise ValueError(f"{wrong[0]!r} must look like owner/name")
        return value

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

    @field_validator(*SECRET_FIELDS, "internal_key_previous", "github_webhook_secret")
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
    def _a_judge_is_complete(self) -> Self:
        if (self.llm_url is None) != (self.llm_model is None):
            raise ValueError("ASSAY_LLM_URL, ASSAY_LLM_MODEL: set both or neither")
        return self

    @model_validator(mode="after")
    def _an_oauth_app_is_complete(self) -> Self:
        if (self.oauth_client_id is None) != (self.oauth_client_secret is None):
            raise ValueError("ASSAY_OAUTH_CLIENT_ID, ASSAY_OAUTH_CLIENT_SECRET: set both or neither")
        return self

    @model_validator(mode="after")
    def _a_github_app_is_complete(self) -> Self:
        given = (self.github_app_id, self.github_app_key_file, self.github_app_installations or None)
        if any(given) and not all(given):
            raise ValueError(
                "ASSAY_GITHUB_APP_ID, ASSAY_GITHUB_APP_KEY_FILE, ASSAY_GITHUB_APP_INSTALLATIONS: set all or none"
            )
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

    def is_trusted(self, repository: RepositoryName) -> bool:
        """Whether a repository is of a publisher whom the operators know: a label, which opens no door."""
        return repository.host is Host.GITHUB and repository.owner.lower() in self.trusted_publishers

    @property
    def llm_budget_micros(self) -> int | None:
        """The budget of a day in millionths."""
        return None if self.llm_daily_budget is None else round(self.llm_daily_budget * 1_000_000)

    @property
    def base_url(self) -> str:
        """The address under which people reach this registry."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def plain_github_tokens(self) -> tuple[str, ...]:
        """The tokens as GitHub wants to see them; nobody else should."""
        return tuple(token.get_secret_value() for token in self.github_tokens)

    @property
    def github_app(self) -> AppOptions | None:
        """The GitHub App, if there is one."""
        if self.github_app_id is None or self.github_app_key_file is None:
            return None
        return AppOptions(self.github_app_id, self.github_app_key_file, self.github_app_installations)

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
