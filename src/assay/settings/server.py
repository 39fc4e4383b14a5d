"""Settings of storage, addresses, secrets and keys."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from assay.model.account import SubmitPolicy
from assay.settings.values import HttpUrl, Secret, SettingsGroup


class ServerSettings(SettingsGroup):
    data_dir: Path = Field(
        Path("data"),
        description="Directory of the embedded PostgreSQL, blobs, keys and generated secrets.",
    )
    database_url: SecretStr | None = Field(
        None,
        description="URL of a PostgreSQL database, version 15 or later. Without it, the embedded server in the data"
        " directory is used.",
    )
    blobs_url: str | None = Field(
        None,
        description="Storage of file contents: `s3://…`, `gs://…`, `az://…` or `file:///…`. Default: a folder in the"
        " data directory.",
    )
    edge_url: SecretStr = Field(
        SecretStr("lmdb:"),
        description="Storage of the edge copy: `lmdb:` (in the data directory), `lmdb:/folder` or `redis://…`.",
    )
    host: str = Field("127.0.0.1", description="Address on which the web process listens.")
    port: int = Field(8000, ge=0, le=65535, description="Port on which the web process listens.")
    public_url: HttpUrl | None = Field(
        None, description="Public URL of the registry, if it differs from host and port."
    )
    submit: SubmitPolicy = Field(
        SubmitPolicy.ANYONE,
        description="Who may submit repositories: `anyone`, `signed-in`, or `members` (accounts with the role MEMBER or"
        " above). Uploads always need an account.",
    )
    internal_key: Secret | None = Field(None, description="Key of the admin API (header `X-Internal-Key`).")
    internal_key_previous: Secret | None = Field(
        None, description="The previous internal key, still accepted while clients change to the new one."
    )
    token: Secret | None = Field(
        None, description="Personal token (`vsk_…`) with which commands act on behalf of an account."
    )
    jwt_secret: Secret | None = Field(None, description="Secret that signs sessions.")
    webhook_secret: Secret | None = Field(
        None, description="Secret that signs the messages between the registry and its scan nodes."
    )
    hallmark_key_file: Path | None = Field(
        None,
        description="File with the Ed25519 key that signs hallmarks and responses. Default: one in the data directory.",
    )
    oms_key_file: Path | None = Field(
        None, description="File with the P-256 key that signs `skill.oms.sig`. Default: one in the data directory."
    )

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: SecretStr | None) -> SecretStr | None:
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
    def _check_edge_url(cls, value: SecretStr) -> SecretStr:
        if not re.fullmatch(r"lmdb:(/\S*)?|rediss?://[^\s/]+(/\d+)?(\?\S*)?", value.get_secret_value()):
            raise ValueError("must be lmdb:, lmdb:/folder or redis://user:password@host:6379/0")
        return value

    @property
    def base_url(self) -> str:
        """The URL of this registry, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def is_embedded(self) -> bool:
        return self.database_url is None
