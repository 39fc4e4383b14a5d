"""What somebody wants to see of the catalogue: which skills, and in which order."""

from dataclasses import dataclass
from enum import StrEnum

from assay.model.category import Category
from assay.model.skill import Tier, TrustTier


class Sort(StrEnum):
    """What a list is ordered by. Relevance needs words; everything but the name is the highest first."""

    RELEVANCE = "relevance"
    UPDATED = "updated"
    NEWEST = "newest"
    INSTALLS = "installs"
    STARS = "stars"
    TRENDING = "trending"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Filters:
    """Only skills that match all of these."""

    category: Category | None = None
    tier: Tier | None = None
    # At least so much trust.
    min_trust: TrustTier | None = None
    # As the listing says, or the owner of its repository.
    author: str | None = None
    # `owner` or `owner/repo`, in lower case.
    source: str | None = None
    labels: frozenset[str] = frozenset()

    @property
    def is_shelf(self) -> bool:
        """Whether at most a category, or at most a tier, is asked for: of these the counters know the number."""
        rest = (self.min_trust, self.author, self.source, self.labels)
        return not any(rest) and (self.category is None or self.tier is None)
