"""Submissions, their states and transitions, and the filters of the queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from assay.model.repository import Repository, RepositoryName


class State(StrEnum):
    """The state of a submission. Clients of the old platform know these names."""

    RECEIVED = "RECEIVED"
    TIER1_SCANNING = "TIER1_SCANNING"
    TIER2_SCANNING = "TIER2_SCANNING"
    AUTO_APPROVED = "AUTO_APPROVED"
    PUBLISHED = "PUBLISHED"
    NEEDS_REVIEW = "NEEDS_REVIEW"
    TIER1_FAILED = "TIER1_FAILED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"
    DEQUEUED = "DEQUEUED"
    ON_HOLD = "ON_HOLD"


MEANING: Mapping[State, str] = MappingProxyType(
    {
        State.RECEIVED: "waiting for a worker",
        State.TIER1_SCANNING: "fetched, static scan running",
        State.TIER2_SCANNING: "LLM judge running",
        State.AUTO_APPROVED: "approved; published in the same transaction",
        State.PUBLISHED: "a version is live",
        State.NEEDS_REVIEW: "waiting for a reviewer",
        State.TIER1_FAILED: "refused by the static scan, with reasons",
        State.REJECTED: "refused, with reasons",
        State.FAILED: "could not be examined after all retries (not a verdict)",
        State.BLOCKED: "blocklisted",
        State.DEQUEUED: "removed from the queue by an operator",
        State.ON_HOLD: "held by an operator",
    }
)

TRANSITIONS: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.RECEIVED: frozenset(
            {State.TIER1_SCANNING, State.BLOCKED, State.DEQUEUED, State.ON_HOLD, State.REJECTED, State.FAILED}
        ),
        State.TIER1_SCANNING: frozenset(
            {
                State.TIER2_SCANNING,
                State.AUTO_APPROVED,
                State.NEEDS_REVIEW,
                State.TIER1_FAILED,
                State.REJECTED,
                State.BLOCKED,
                State.FAILED,
                State.RECEIVED,
                State.DEQUEUED,
                State.ON_HOLD,
            }
        ),
        State.TIER2_SCANNING: frozenset(
            {
                State.AUTO_APPROVED,
                State.NEEDS_REVIEW,
                State.REJECTED,
                State.BLOCKED,
                State.FAILED,
                State.RECEIVED,
                State.DEQUEUED,
                State.ON_HOLD,
            }
        ),
        State.AUTO_APPROVED: frozenset({State.PUBLISHED}),
        State.PUBLISHED: frozenset({State.RECEIVED, State.BLOCKED}),
        State.NEEDS_REVIEW: frozenset({State.PUBLISHED, State.REJECTED, State.BLOCKED, State.RECEIVED}),
        State.TIER1_FAILED: frozenset({State.RECEIVED, State.NEEDS_REVIEW, State.PUBLISHED, State.BLOCKED}),
        State.REJECTED: frozenset({State.RECEIVED, State.NEEDS_REVIEW, State.PUBLISHED, State.BLOCKED}),
        State.FAILED: frozenset({State.RECEIVED, State.DEQUEUED}),
        State.BLOCKED: frozenset({State.RECEIVED}),
        State.DEQUEUED: frozenset({State.RECEIVED}),
        State.ON_HOLD: frozenset({State.RECEIVED, State.DEQUEUED}),
    }
)


class StateGroup(StrEnum):
    """A group of states, as shown in lists and statistics."""

    ACTIVE = "active"
    PUBLISHED = "published"
    REJECTED = "rejected"
    REVIEW = "review"
    FAILED = "failed"
    BLOCKED = "blocked"
    ON_HOLD = "onHold"


STATE_GROUPS: Mapping[StateGroup, frozenset[State]] = MappingProxyType(
    {
        StateGroup.ACTIVE: frozenset({State.RECEIVED, State.TIER1_SCANNING, State.TIER2_SCANNING}),
        StateGroup.PUBLISHED: frozenset({State.PUBLISHED, State.AUTO_APPROVED}),
        StateGroup.REJECTED: frozenset({State.REJECTED, State.TIER1_FAILED, State.DEQUEUED}),
        StateGroup.REVIEW: frozenset({State.NEEDS_REVIEW}),
        StateGroup.FAILED: frozenset({State.FAILED}),
        StateGroup.BLOCKED: frozenset({State.BLOCKED}),
        StateGroup.ON_HOLD: frozenset({State.ON_HOLD}),
    }
)

ACTIVE = STATE_GROUPS[StateGroup.ACTIVE]
# States that require a reason.
REFUSED = frozenset(
    {
        State.TIER1_FAILED,
        State.REJECTED,
        State.FAILED,
        State.BLOCKED,
        State.NEEDS_REVIEW,
        State.DEQUEUED,
        State.ON_HOLD,
    }
)
# States in which a resubmission returns to the queue.
REOPENED_BY_RESUBMISSION = frozenset({State.PUBLISHED, State.TIER1_FAILED, State.REJECTED, State.FAILED})


def group_of(state: State) -> StateGroup:
    """Return the group of a state; every state belongs to exactly one."""
    return next(category for category, states in STATE_GROUPS.items() if state in states)


class Origin(StrEnum):
    """The way in which a submission was sent."""

    API = "api"
    UPLOAD = "upload"
    CLI = "cli"
    BULK = "bulk"
    DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a refusal: a slug for programs, a sentence for people, and the next step for the author."""

    code: str
    message: str
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """The standing request to list one skill from one repository folder."""

    id: UUID
    repository: Repository
    skill_name: str
    skill_path: str
    state: State
    version: int
    cycle: int
    priority: int
    attempts: int
    claims: int
    origin: Origin
    submitter: str | None
    upload_digest: str | None
    content_digest: str | None
    skill_id: UUID | None
    score: int | None
    reason: Reason | None
    lease: str | None
    created_at: datetime
    updated_at: datetime
    received_at: datetime
    scanning_at: datetime | None
    decided_at: datetime | None
    # The owner or an administrator chose the name; other names must match the fetched skill.
    is_name_chosen: bool = False


@dataclass(frozen=True, slots=True)
class SubmissionEvent:
    """A recorded change of state."""

    id: int
    from_state: State | None
    to_state: State
    trigger: str
    actor: str
    metadata: Mapping[str, object]
    created_at: datetime


class SubmissionSort(StrEnum):
    """The sort key of a list of submissions."""

    CREATED_AT = "createdAt"
    UPDATED_AT = "updatedAt"
    SKILL_NAME = "skillName"
    STATE = "state"
    PROCESSING_ORDER = "processingOrder"


class SortDirection(StrEnum):
    """The direction of an order."""

    ASC = "asc"
    DESC = "desc"


NEWEST_FIRST = frozenset({SubmissionSort.CREATED_AT, SubmissionSort.UPDATED_AT})


@dataclass(frozen=True, slots=True)
class SubmissionOrder:
    """The order of a list. Sorting by state uses the order of the states; within a state the newest come first in both
    directions.
    """

    sort: SubmissionSort = SubmissionSort.CREATED_AT
    direction: SortDirection = SortDirection.DESC

    @property
    def descending(self) -> bool:
        return self.direction is SortDirection.DESC


def submission_order(sort: SubmissionSort, direction: SortDirection | None = None) -> SubmissionOrder:
    """Return an order, by default newest first for times and ascending otherwise."""
    return SubmissionOrder(sort, direction or (SortDirection.DESC if sort in NEWEST_FIRST else SortDirection.ASC))


@dataclass(frozen=True, slots=True)
class SubmissionFilters:
    """Filters for a list of submissions, combined with AND."""

    states: frozenset[State] | None = None
    reason: str | None = None
    repository: RepositoryName | None = None
    words: str | None = None
    origin: Origin | None = None
    submitter: str | None = None

    @property
    def need_counting(self) -> bool:
        """Return whether the total is unknown to the counters, which count by state only."""
        return any((self.reason, self.repository, self.words, self.origin, self.submitter))
