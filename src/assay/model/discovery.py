"""Discovery: candidates, their records, and discovery runs."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from assay.model.repository import RepositoryName

# Repositories inspected concurrently, and the maximum of new ones per run.
DISCOVERY_BATCH_SIZE = 20
MAX_RESULTS_PER_RUN = 5_000
SOURCE_NAMES = ("code-search", "topics", "organisations", "events", "npm", "marketplaces", "registries", "list")


class RegistryKind(StrEnum):
    """The listing protocol of another registry."""

    WELL_KNOWN = "well-known"
    SKILLS_SH = "skills-sh"
    ASSAY = "assay"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A repository that may contain skills.

    A known repository is inspected again if `changed_at` is newer or `paths` has a new path. A `known_only` candidate
    is ignored unless the repository is known.
    """

    repository: RepositoryName
    changed_at: datetime | None = None
    paths: tuple[str, ...] = ()
    known_only: bool = False


class RecordState(StrEnum):
    """The state of a discovered repository."""

    FOUND = "found"
    SUBMITTED = "submitted"
    EMPTY = "empty"
    MISSING = "missing"
    REFUSED = "refused"


class RunOutcome(StrEnum):
    """The end of a run. All but COMPLETE resume from their checkpoint."""

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
class RunCounters:
    """Counters of a run: repositories found, new and inspected; skills enqueued and already known."""

    found: int = 0
    new: int = 0
    skipped_dedup: int = 0
    looked: int = 0
    enqueued: int = 0
    existing: int = 0
    errors: int = 0
    repo_stats: dict[str, int] = field(default_factory=dict)
