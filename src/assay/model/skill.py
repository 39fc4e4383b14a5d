"""A skill: the listing, its versions and what certifies them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.category import Category
from assay.model.listing_status import Remark, Standing, VersionStatus
from assay.model.repository import RepositoryName


class Tier(StrEnum):
    """How far a version was examined."""

    SCANNED = "SCANNED"
    VERIFIED = "VERIFIED"
    CERTIFIED = "CERTIFIED"

    @property
    def is_reviewed(self) -> bool:
        """Whether a person has looked."""
        return self is Tier.CERTIFIED


class Method(StrEnum):
    """Who examined it last."""

    STATIC = "static"
    JUDGE = "judge"
    REVIEW = "review"


class TrustTier(StrEnum):
    """Trust in one letter and digit, T0 lowest."""

    T0 = "T0"
    T1 = "T1"
    T2 = "T2"
    T3 = "T3"
    T4 = "T4"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the registry says about one content digest, and its signature over that."""

    tier: Tier
    method: Method
    score: int
    trust_score: int
    trust_tier: TrustTier
    certified_at: datetime
    hallmark: Mapping[str, object]
    # The content alone, signed for tools that know models and nothing of skills.
    oms_signature: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """What a skill says of itself, from its front matter."""

    name: str | None
    description: str
    version: str | None
    license: str | None
    author: str | None
    category: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """One immutable version of a listing."""

    id: UUID
    version: str
    content_digest: str
    commit: str
    tier: Tier
    score: int
    hallmark: Mapping[str, object]
    published_at: datetime
    # Its place among the versions of its listing, from 1.
    ordinal: int = 1
    status: VersionStatus = VersionStatus.LIVE
    # Why it was yanked or withdrawn, and why it is better not used any more.
    remark: Remark | None = None
    deprecation: Remark | None = None


@dataclass(frozen=True, slots=True)
class Skill:
    """One listing."""

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
    updated_at: datetime
    category: Category
    labels: tuple[str, ...]
    installs: int
    trending_7d: int
    trending_30d: int
    standing: Standing
    # Why it is not live.
    remark: Remark | None
