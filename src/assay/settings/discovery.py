"""Where skills are looked for."""

import re

from pydantic import Field, field_validator

from assay.model.discovery import MOST_RESULTS, SOURCE_NAMES, RegistryKind
from assay.settings.values import HttpUrl, Part, Words


class DiscoverySettings(Part):
    """Where skills are looked for."""

    discovery: bool = Field(False, description="Whether `assay up` looks for skills, too.")
    discovery_sources: Words = Field(SOURCE_NAMES, description="Where skills are looked for, separated by commas.")
    discovery_topics: Words = Field(
        ("agent-skills", "agent-skill", "claude-skills", "claude-code-skills", "skill-md"),
        description="Topics of repositories that may hold skills.",
    )
    discovery_organisations: Words = Field(
        (), description="Organisations and people all of whose repositories are looked into."
    )
    discovery_npm_url: HttpUrl | None = Field(
        None, description="A registry of npm, whose packages are searched by keyword. None: they are not."
    )
    discovery_npm_keywords: Words = Field(
        ("agent-skills", "agent-skill", "claude-skill"), description="Keywords of packages that may hold skills."
    )
    discovery_registries: Words = Field(
        (), description="Other registries, as `well-known+https://…`, `skills-sh+https://…` or `assay+https://…`."
    )
    discovery_list: str | None = Field(
        None, description="A list of repositories, one a line: a file, or an https address."
    )
    discovery_known: Words = Field(
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
