"""GitHub and other git hosts, and the people who come from there."""

import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from assay.github.auth import AppOptions
from assay.model.repository import Host, RepositoryName
from assay.settings.values import HttpUrl, Listed, Part, Secret, Words


class GitHubSettings(Part):
    """GitHub and other git hosts, and the people who come from there."""

    github_tokens: Annotated[tuple[SecretStr, ...], Listed] = Field(
        (), description="Tokens for GitHub, separated by commas. None: anonymous."
    )
    github_app_id: str | None = Field(
        None, pattern=r"^[\w.-]{1,100}$", description="GitHub App whose installations are used beside the tokens."
    )
    github_app_key_file: Path | None = Field(None, description="File with the App's private key (PEM).")
    github_app_installations: Annotated[tuple[int, ...], Listed] = Field(
        (), description="Numbers of the App's installations, separated by commas."
    )
    github_api_url: HttpUrl = Field("https://api.github.com", description="REST API.")
    github_raw_url: HttpUrl = Field("https://raw.githubusercontent.com", description="Raw files.")
    github_codeload_url: HttpUrl = Field("https://codeload.github.com", description="Archives.")
    github_web_url: HttpUrl = Field("https://github.com", description="The host of repository URLs that are accepted.")
    github_webhook_secret: Secret | None = Field(
        None, description="Signs what GitHub tells of repositories. None: webhooks of GitHub are not taken."
    )
    git_hosts: Words = Field(
        ("gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"),
        description="Other git hosts of which repositories are accepted, separated by commas.",
    )
    archive_cache_mb: int = Field(
        1024, ge=0, le=1_048_576, description="Archives of repositories that are kept in the data directory. 0: none."
    )
    oauth_client_id: str | None = Field(None, description="OAuth app for sign-in with GitHub. None: no such sign-in.")
    oauth_client_secret: SecretStr | None = Field(None, description="Secret of the OAuth app.")
    admin_logins: Words = Field((), description="GitHub logins that are administrators, separated by commas.")
    trusted_publishers: Words = Field(
        (),
        description="Owners on GitHub whose skills carry a label, separated by commas; examined all the same.",
    )

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

    def is_trusted(self, repository: RepositoryName) -> bool:
        """Whether a repository is of a publisher whom the operators know: a label, which opens no door."""
        return repository.host is Host.GITHUB and repository.owner.lower() in self.trusted_publishers

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
