"""Settings of GitHub, other git hosts and sign-in with GitHub."""

import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from assay.github.auth import AppOptions
from assay.model.repository import Host, RepositoryName
from assay.settings.values import CommaSeparated, HttpUrl, Secret, SettingsGroup, Words


class GitHubSettings(SettingsGroup):
    github_tokens: Annotated[tuple[SecretStr, ...], CommaSeparated] = Field(
        (), description="GitHub tokens, separated by commas. Without any, GitHub is used anonymously."
    )
    github_app_id: str | None = Field(
        None,
        pattern=r"^[\w.-]{1,100}$",
        description="Id of a GitHub App whose installations are used in addition to the tokens.",
    )
    github_app_key_file: Path | None = Field(None, description="File with the private key of the GitHub App (PEM).")
    github_app_installations: Annotated[tuple[int, ...], CommaSeparated] = Field(
        (), description="Numeric ids of the App's installations, separated by commas."
    )
    github_api_url: HttpUrl = Field("https://api.github.com", description="URL of GitHub's REST API.")
    github_raw_url: HttpUrl = Field("https://raw.githubusercontent.com", description="URL of GitHub's raw files.")
    github_codeload_url: HttpUrl = Field(
        "https://codeload.github.com", description="Base URL for downloading repository archives from GitHub."
    )
    github_web_url: HttpUrl = Field(
        "https://github.com", description="URL of GitHub's website, with which accepted repository URLs start."
    )
    github_webhook_secret: Secret | None = Field(
        None,
        description="Secret with which GitHub signs its webhook requests. Without it, they are refused.",
    )
    git_hosts: Words = Field(
        ("gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"),
        description="Other git hosts whose repositories are accepted, separated by commas.",
    )
    archive_cache_mb: int = Field(
        1024,
        ge=0,
        le=1_048_576,
        description="Size in MB of the cache of repository archives in the data directory; 0 turns it off.",
    )
    oauth_client_id: str | None = Field(
        None, description="Client id of the OAuth app for sign-in with GitHub. Without it, there is no such sign-in."
    )
    oauth_client_secret: SecretStr | None = Field(None, description="Client secret of the OAuth app.")
    admin_logins: Words = Field((), description="GitHub logins of the administrators, separated by commas.")
    trusted_publishers: Words = Field(
        (),
        description="GitHub owners whose skills get a label, separated by commas; they are scanned like all others.",
    )

    @field_validator("admin_logins", "trusted_publishers")
    @classmethod
    def _check_logins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Return the logins in lower case, because GitHub ignores their case."""
        if wrong := [login for login in value if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", login)]:
            raise ValueError(f"{wrong[0]!r} is not a GitHub login")
        return tuple(login.lower() for login in value)

    @field_validator("git_hosts")
    @classmethod
    def _check_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Accept DNS names, and for unencrypted servers on this machine also a port."""
        form = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*|(?:127\.0\.0\.1|localhost):[0-9]{1,5}"
        if wrong := [host for host in value if not re.fullmatch(form, host.lower())]:
            raise ValueError(f"{wrong[0]!r} is not a host name such as gitlab.com")
        return tuple(dict.fromkeys(host.lower() for host in value))

    @model_validator(mode="after")
    def _check_oauth_app(self) -> Self:
        if (self.oauth_client_id is None) != (self.oauth_client_secret is None):
            raise ValueError("ASSAY_OAUTH_CLIENT_ID, ASSAY_OAUTH_CLIENT_SECRET: set both or neither")
        return self

    @model_validator(mode="after")
    def _check_github_app(self) -> Self:
        parts = (self.github_app_id, self.github_app_key_file, self.github_app_installations or None)
        if any(parts) and not all(parts):
            raise ValueError(
                "ASSAY_GITHUB_APP_ID, ASSAY_GITHUB_APP_KEY_FILE, ASSAY_GITHUB_APP_INSTALLATIONS: set all or none"
            )
        return self

    def is_trusted(self, repository: RepositoryName) -> bool:
        """Return whether the repository's owner is a trusted publisher, which gives a label and no privileges."""
        return repository.host is Host.GITHUB and repository.owner.lower() in self.trusted_publishers

    @property
    def plain_github_tokens(self) -> tuple[str, ...]:
        """The tokens as text, for requests to GitHub only."""
        return tuple(token.get_secret_value() for token in self.github_tokens)

    @property
    def github_app(self) -> AppOptions | None:
        """The GitHub App, if one is configured."""
        if self.github_app_id is None or self.github_app_key_file is None:
            return None
        return AppOptions(self.github_app_id, self.github_app_key_file, self.github_app_installations)
