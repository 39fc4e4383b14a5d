"""The JSON of installs and updates, as the clients of the old platform send and read them."""

from typing import Annotated

import msgspec

from assay.model.skill import Tier
from assay.serve.versions.updates import MOST
from assay.web.http.json import View
from assay.web.submissions.json import Body

LARGEST_BYTES = 64 * 1024
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Word = Annotated[str, msgspec.Meta(max_length=100)]
Url = Annotated[str, msgspec.Meta(max_length=500)]


class InstallBody(Body, frozen=True):
    """What was installed by what; only the version is kept."""

    version: Word | None = None
    repo_url: Url | None = None
    source: Word | None = None
    platform: Word | None = None
    cli_version: Word | None = None


class InstalledSkillBody(Body, frozen=True):
    """One of several."""

    skill_name: Name
    repo_url: Url | None = None
    version: Word | None = None


class InstallsBody(Body, frozen=True):
    """Several skills that were installed together."""

    skills: Annotated[list[InstalledSkillBody], msgspec.Meta(min_length=1, max_length=MOST)]
    source: Word | None = None
    platform: Word | None = None
    cli_version: Word | None = None


class RecordedView(View, frozen=True):
    """How many reports came, how many were counted (the first of a client, a skill and a day is), and the names that
    lead to no listing.
    """

    ok: bool
    received: int
    counted: int
    unknown: list[str]


class CheckedSkillBody(Body, frozen=True):
    """A skill that is installed. `sha` is the SHA-256 of the text of its SKILL.md."""

    name: Name
    current_version: Word
    sha: Word | None = None


class CheckUpdatesBody(Body, frozen=True):
    """At most 100 skills."""

    skills: list[CheckedSkillBody]
    platform: Word | None = None
    cli_version: Word | None = None


class UpdateView(View, frozen=True):
    """Whether there is a newer version. `latest` is null if the skill is not listed; then `code` says why.

    `installed` is null for 0.0.0, which programs write where no version is known.
    """

    name: str
    installed: str | None
    latest: str | None
    update_available: bool
    version_bump: str | None
    diff_summary: str | None
    cert_tier: Tier | None
    cert_score: int | None
    code: str | None


class UpdatesView(View, frozen=True):
    """An answer for each skill, in the order of the request."""

    results: list[UpdateView]
