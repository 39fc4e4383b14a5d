"""Where a registry keeps things, and where it answers."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from assay.settings.values import HttpUrl, Part, Secret


class ServerSettings(Part):
    """Where a registry keeps things, and where it answers."""

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
    internal_key: Secret | None = Field(None, description="Key of the admin API (`X-Internal-Key`).")
    internal_key_previous: Secret | None = Field(
        None, description="The key before, which stays valid while clients change to the new one."
    )
    token: Secret | None = Field(None, description="Token of a person (`vsk_…`), for commands that act in a name.")
    jwt_secret: Secret | None = Field(None, description="Signs sessions of people.")
    webhook_secret: Secret | None = Field(None, description="Signs the results that scan nodes report.")
    hallmark_key_file: Path | None = Field(
        None, description="The Ed25519 key of hallmarks and signed answers. None: one in the data directory."
    )
    oms_key_file: Path | None = Field(
        None, description="The P-256 key of `skill.oms.sig`. None: one in the data directory."
    )

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

    @property
    def base_url(self) -> str:
        """The address under which people reach this registry."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def is_embedded(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url is None
