"""Finding skills that nobody has submitted: what sources find, and what becomes of it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from assay.model.repository import RepositoryName

# So many repositories are looked into at once, and so many new ones are taken in a run at the most.
DISCOVERY_BATCH_SIZE = 20
MOST_RESULTS = 5_000
SOURCE_NAMES = ("code-search", "topics", "organisations", "events", "npm", "marketplaces", "registries", "list")


class RegistryKind(StrEnum):
    """How another registry lists what it has."""

    WELL_KNOWN = "well-known"
    SKILLS_SH = "skills-sh"
    ASSAY = "assay"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A repository that may hold skills.

    `changed_at` and `paths` say why a known one may be worth another look: it has changed since, or has a skill at a
    path that was not there. One that is `known_only` is of interest only if it was found before.
    """

    repository: RepositoryName
    changed_at: datetime | None = None
    paths: tuple[str, ...] = ()
    known_only: bool = False


class RecordState(StrEnum):
    """What became of a repository that was found."""

    FOUND = "found"
    SUBMITTED = "submitted"
    EMPTY = "empty"
    MISSING = "missing"
    REFUSED = "refused"


class RunOutcome(StrEnum):
    """How a run ended. What is not complete goes on where it stopped."""

    COMPLETE = "complete"
    CAPPED = "capped"
    SPENT = "spent"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"
    DIED = "died"


@dataclass
class Tally:
    """What a run did: repositories found, new among them and looked into; skills enqueued and known already."""

    found: int = 0
    new: int = 0
    skipped_dedup: int = 0
    looked: int = 0
    enqueued: int = 0
    existing: int = 0
    errors: int = 0
    repo_stats: dict[str, int] = field(default_factory=dict)
