"""Settings of discovery."""

import re

from pydantic import Field, field_validator

from assay.model.discovery import MAX_RESULTS_PER_RUN, SOURCE_NAMES, RegistryKind
from assay.settings.values import HttpUrl, SettingsGroup, Words


class DiscoverySettings(SettingsGroup):
    discovery: bool = Field(False, description="Run the crawler, which discovers skills, as part of `assay up`.")
    discovery_sources: Words = Field(SOURCE_NAMES, description="The sources to crawl, separated by commas.")
    discovery_topics: Words = Field(
        ("agent-skills", "agent-skill", "claude-skills", "claude-code-skills", "skill-md"),
        description="GitHub topics whose repositories are searched for skills, separated by commas.",
    )
    discovery_organisations: Words = Field(
        (),
        description="GitHub organisations and users whose repositories are all searched, separated by commas.",
    )
    discovery_npm_url: HttpUrl | None = Field(
        None,
        description="URL of an npm registry whose packages are searched by keyword. Without it, npm is not searched.",
    )
    discovery_npm_keywords: Words = Field(
        ("agent-skills", "agent-skill", "claude-skill"),
        description="Keywords of the npm packages that are searched for skills, separated by commas.",
    )
    discovery_registries: Words = Field(
        (),
        description="Other registries to crawl, separated by commas, as `well-known+https://…`, `skills-sh+https://…`"
        " or `assay+https://…`.",
    )
    discovery_list: str | None = Field(
        None, description="A list of repositories to crawl, one per line: the path of a file, or an https URL."
    )
    discovery_known: Words = Field(
        (),
        description="Repositories (`owner/name`) that discovery is expected to find, separated by commas. Default:"
        " those of the starter catalogue.",
    )
    discovery_max_results: int = Field(
        MAX_RESULTS_PER_RUN, ge=1, le=MAX_RESULTS_PER_RUN, description="Maximum number of new repositories per run."
    )
    discovery_calls: int = Field(
        1_000, ge=10, le=100_000, description="Maximum number of API calls of a source per run, and thus per hour."
    )
    discovery_every_seconds: int = Field(
        21_600, ge=60, le=2_592_000, description="Seconds between two runs of a source."
    )
    discovery_floor_seconds: int = Field(
        172_800, ge=60, le=7_776_000, description="Seconds without a new result after which a source raises an alarm."
    )
    discovery_private_addresses: bool = Field(
        False, description="Allow lists and registries with private addresses or http URLs."
    )

    @field_validator("discovery_sources")
    @classmethod
    def _check_sources(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := sorted(set(value) - set(SOURCE_NAMES)):
            raise ValueError(f"{wrong[0]!r} is not a source; use {', '.join(SOURCE_NAMES)}")
        return value

    @field_validator("discovery_topics", "discovery_npm_keywords", "discovery_organisations")
    @classmethod
    def _check_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Reject values that could change the search query they become part of."""
        if wrong := [word for word in value if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", word)]:
            raise ValueError(f"{wrong[0]!r} is not a topic, keyword or login")
        return value

    @field_validator("discovery_registries")
    @classmethod
    def _check_registries(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        kinds = "|".join(RegistryKind)
        if wrong := [each for each in value if not re.fullmatch(rf"({kinds})\+https?://[^\s/?#@]+(/[^\s?#]*)?", each)]:
            raise ValueError(f"{wrong[0]!r} must look like well-known+https://skills.example.com")
        return tuple(each.rstrip("/") for each in value)

    @field_validator("discovery_known")
    @classmethod
    def _check_repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [each for each in value if not re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", each, re.ASCII)]:
            raise ValueError(f"{wrong[0]!r} must look like owner/name")
        return value
