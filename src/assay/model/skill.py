"""Listings, their versions and certificates, and the filters of the catalogue."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from assay.model.category import Category
from assay.model.repository import RepositoryName


def slug_of(name: str) -> str:
    """Return a skill name as a URL segment: lower case, dashes, letters of any alphabet."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


def listing_name(repository: RepositoryName, skill_name: str) -> str:
    """Return `owner/repository/skill` in lower case."""
    return f"{repository.owner}/{repository.name}/{slug_of(skill_name)}".lower()


def slug_in(name: str) -> str:
    """Return the last segment of a listing name."""
    return name.rpartition("/")[2]


def repository_key(repository: RepositoryName) -> str:
    """Return `owner/repository` in lower case, as used by the blocklist."""
    return f"{repository.owner}/{repository.name}".lower()


def declared_version(version: str | None) -> str | None:
    """Return the declared version, or None for 0.0.0, which tools write as a placeholder."""
    return None if version is None or version.strip().removeprefix("v") == "0.0.0" else version


# A deleted listing can be restored for this long; its files are deleted afterwards.
RESTORABLE_FOR = timedelta(days=7)


class ListingStatus(StrEnum):
    """The status of a listing. Only live listings are listed, searched and counted."""

    LIVE = "live"
    # Hidden by its owner.
    UNLISTED = "unlisted"
    # No usable version is left.
    WITHDRAWN = "withdrawn"
    BLOCKED = "blocked"
    # The repository no longer exists.
    GONE = "gone"
    # Removed by its owner or an administrator, who may restore it.
    DELETED = "deleted"


class VersionStatus(StrEnum):
    """The status of a version. A yanked version is served only by its exact number; a withdrawn one never."""

    LIVE = "live"
    YANKED = "yanked"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class StatusReason:
    """The reason for a change of status: a slug for programs, a sentence for people, time and actor."""

    code: str
    message: str
    at: datetime
    by: str


class Tier(StrEnum):
    """The depth of the examination of a version."""

    SCANNED = "SCANNED"
    VERIFIED = "VERIFIED"
    CERTIFIED = "CERTIFIED"

    @property
    def is_reviewed(self) -> bool:
        return self is Tier.CERTIFIED


class Method(StrEnum):
    """The method of the latest examination."""

    STATIC = "static"
    JUDGE = "judge"
    REVIEW = "review"


class TrustTier(StrEnum):
    """The trust level, from `T0` (lowest) to `T4`."""

    T0 = "T0"
    T1 = "T1"
    T2 = "T2"
    T3 = "T3"
    T4 = "T4"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The signed result of an examination."""

    tier: Tier
    method: Method
    score: int
    trust_score: int
    trust_tier: TrustTier
    certified_at: datetime
    hallmark: Mapping[str, object]
    # Signature over the content alone in the OpenSSF Model Signing format.
    oms_signature: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """Front matter of a SKILL.md."""

    name: str | None
    description: str
    version: str | None
    license: str | None
    author: str | None
    category: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """An immutable version of a listing."""

    id: UUID
    version: str
    content_digest: str
    commit: str
    tier: Tier
    score: int
    hallmark: Mapping[str, object]
    published_at: datetime
    # Position among the versions of the listing, from 1.
    ordinal: int = 1
    status: VersionStatus = VersionStatus.LIVE
    # Reasons of the current status and of a deprecation.
    remark: StatusReason | None = None
    deprecation: StatusReason | None = None


@dataclass(frozen=True, slots=True)
class Skill:
    """A listing with its current version."""

    id: UUID
    name: str
    display_name: str
    description: str
    author: str
    repository: RepositoryName
    skill_path: str
    license: str | None
    tier: Tier
    method: Method
    score: int
    trust_score: int
    trust_tier: TrustTier
    certified_at: datetime
    current_version: str
    content_digest: str
    commit: str
    stars: int | None
    created_at: datetime
    # When the listing got the last part of its name.
    named_at: datetime
    updated_at: datetime
    category: Category
    labels: tuple[str, ...]
    installs: int
    trending_7d: int
    trending_30d: int
    standing: ListingStatus
    # Reason of the current status, unless live.
    remark: StatusReason | None
    # The author that the front matter claims, if it is not the owner of the namespace.
    claimed_author: str | None = None


class SkillSort(StrEnum):
    """The sort key of a list of skills. `relevance` requires a query; all but `name` sort in descending order."""

    RELEVANCE = "relevance"
    UPDATED = "updated"
    NEWEST = "newest"
    INSTALLS = "installs"
    STARS = "stars"
    TRENDING = "trending"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class SkillFilters:
    """Filters for a list of skills, combined with AND."""

    category: Category | None = None
    tier: Tier | None = None
    min_trust: TrustTier | None = None
    # The author of the listing, or the owner of its repository.
    author: str | None = None
    # `owner` or `owner/repo`, in lower case.
    source: str | None = None
    labels: frozenset[str] = frozenset()

    @property
    def has_precomputed_total(self) -> bool:
        """Return whether the counters know the total: they count by category and by tier, not by both."""
        rest = (self.min_trust, self.author, self.source, self.labels)
        return not any(rest) and (self.category is None or self.tier is None)
