"""What the commands read in the answers of a registry; what else these say is left alone."""

from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from assay.cli.registry.errors import Json
from assay.model.errors import Unavailable

Kind = TypeVar("Kind", bound="Read")


class Read(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Keys are camelCase on the wire."""


class ReasonRead(Read, frozen=True):
    """Why, and what to do next."""

    code: str
    message: str
    next_step: str | None = None


class SubmissionRead(Read, frozen=True):
    """A submission of a list. States are text: a newer registry may have others."""

    id: UUID
    repository: str
    skill_name: str
    skill_path: str
    state: str
    source: str
    score: int | None
    reason: ReasonRead | None
    created_at: datetime
    updated_at: datetime


class FindingRead(Read, frozen=True):
    """What a rule saw, and where."""

    rule_id: str
    severity: str
    confidence: float
    file: str
    line: int
    message: str


class ScanRead(Read, frozen=True):
    """One scan of the content."""

    findings: list[FindingRead]


class HistoryRead(Read, frozen=True):
    """One change of state."""

    to_state: str
    trigger: str
    actor: str
    created_at: datetime


class TimingsRead(Read, frozen=True):
    """How long each stage took."""

    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


class DetailRead(SubmissionRead, frozen=True):
    """A submission with everything that happened to it."""

    published_skill_name: str | None
    state_history: list[HistoryRead]
    stage_timings: TimingsRead
    scan_results: list[ScanRead]
    position: int | None = None
    eta_seconds: int | None = None
    next_step: str | None = None


class PageRead(Read, frozen=True):
    """A page of submissions."""

    submissions: list[SubmissionRead]
    total: int
    next_cursor: str | None
    total_is_exact: bool = True
    queue_positions: dict[str, int] = {}


class ItemRead(Read, frozen=True):
    """What became of one of several skills."""

    outcome: str
    id: UUID | None = None
    state: str | None = None
    skill_name: str | None = None
    skill_path: str | None = None
    already_verified: bool = False
    code: str | None = None
    detail: str | None = None


class BatchRead(Read, frozen=True):
    """What became of several skills."""

    results: list[ItemRead]


class AcceptedRead(Read, frozen=True):
    """What became of a submission."""

    id: UUID
    state: str
    duplicate: bool
    already_verified: bool
    blocked: bool
    batch: BatchRead | None = None


class DiscoveredRead(Read, frozen=True):
    """A skill of a repository."""

    name: str
    path: str


class DiscoverRead(Read, frozen=True):
    """The skills of a repository."""

    repo_url: str
    repository: str
    skills: list[DiscoveredRead]


class EventRead(Read, frozen=True):
    """A change of state, as it happens."""

    submission_id: UUID
    state: str
    at: datetime


class HandledRead(Read, frozen=True):
    """What an admin's request did."""

    class SkippedRead(Read, frozen=True):
        """What was left as it is."""

        id: UUID
        state: str

    changed: list[UUID]
    skipped: list[SkippedRead]
    missing: list[UUID]


class ReprocessedRead(Read, frozen=True):
    """How many matched, by state, how many of them were given back, and how many are left."""

    matched: dict[str, int]
    matched_is_exact: bool
    requeued: int
    remaining: int
    before: datetime


class PauseRead(Read, frozen=True):
    """A pause of the queue."""

    reason: str
    paused_by: str
    expires_at: datetime


class ResumedRead(Read, frozen=True):
    """The pause that was ended, if there was one."""

    ended: PauseRead | None


class StuckRead(Read, frozen=True):
    """A submission that does not move."""

    id: UUID
    state: str
    skill_name: str
    stuck_for_ms: int
    why: str


class StuckPageRead(Read, frozen=True):
    """A page of them."""

    stuck: list[StuckRead]
    next_cursor: str | None


class AlarmRead(Read, frozen=True):
    """A condition that holds."""

    code: str
    message: str
    since: datetime


class OldestRead(Read, frozen=True):
    """The submission that has waited longest."""

    id: UUID
    state: str
    age_ms: int


class DrainRead(Read, frozen=True):
    """Submissions decided lately."""

    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")


class PausedRead(Read, frozen=True):
    """Why nothing is claimed, and until when."""

    reason: str
    until: datetime


class HealthRead(Read, frozen=True):
    """How the queue is."""

    degraded: bool
    alarms: list[AlarmRead]
    waiting: int
    oldest_waiting: OldestRead | None
    drain_rate: DrainRead
    paused: PausedRead | None


def read(kind: type[Kind], answer: Json) -> Kind:
    """An answer as what it should be."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as problem:
        raise Unavailable(
            "The registry answers in a way that this release does not know.", cause=str(problem)
        ) from None
