"""A submission: the standing request to list one skill, and the states it travels through."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from uuid import UUID

from assay.model.repository import Repository


class State(StrEnum):
    """Where a submission stands. The names are those that clients of the old platform know."""

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
        State.AUTO_APPROVED: "decided; the same transaction goes on to PUBLISHED",
        State.PUBLISHED: "a version is live",
        State.NEEDS_REVIEW: "a person decides",
        State.TIER1_FAILED: "refused by the static scan, with reasons",
        State.REJECTED: "refused, with reasons",
        State.FAILED: "could not be examined after all retries (not a verdict)",
        State.BLOCKED: "blocklisted",
        State.DEQUEUED: "taken out by an admin",
        State.ON_HOLD: "parked by an admin",
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


class Category(StrEnum):
    """The groups that lists and statistics show."""

    ACTIVE = "active"
    PUBLISHED = "published"
    REJECTED = "rejected"
    REVIEW = "review"
    FAILED = "failed"
    BLOCKED = "blocked"
    ON_HOLD = "onHold"


CATEGORIES: Mapping[Category, frozenset[State]] = MappingProxyType(
    {
        Category.ACTIVE: frozenset({State.RECEIVED, State.TIER1_SCANNING, State.TIER2_SCANNING}),
        Category.PUBLISHED: frozenset({State.PUBLISHED, State.AUTO_APPROVED}),
        Category.REJECTED: frozenset({State.REJECTED, State.TIER1_FAILED, State.DEQUEUED}),
        Category.REVIEW: frozenset({State.NEEDS_REVIEW}),
        Category.FAILED: frozenset({State.FAILED}),
        Category.BLOCKED: frozenset({State.BLOCKED}),
        Category.ON_HOLD: frozenset({State.ON_HOLD}),
    }
)

ACTIVE = CATEGORIES[Category.ACTIVE]
# States that say no: each must carry its reason.
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
# States that a new submission of the same skill sends back to the queue.
REOPENED_BY_RESUBMISSION = frozenset({State.PUBLISHED, State.TIER1_FAILED, State.REJECTED, State.FAILED})


def category_of(state: State) -> Category:
    """The one group a state is shown in."""
    return next(category for category, states in CATEGORIES.items() if state in states)


class Origin(StrEnum):
    """The way a submission came in."""

    API = "api"
    UPLOAD = "upload"
    CLI = "cli"
    BULK = "bulk"
    DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was refused: a slug for programs, a sentence for people, what to do next."""

    code: str
    message: str
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """One skill of one repository, asked to be listed."""

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


@dataclass(frozen=True, slots=True)
class SubmissionEvent:
    """One change of state, as it happened."""

    id: int
    from_state: State | None
    to_state: State
    trigger: str
    actor: str
    metadata: Mapping[str, object]
    created_at: datetime
