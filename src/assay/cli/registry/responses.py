"""The parts of a registry's responses that the commands use; unknown fields are ignored."""

from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from assay.cli.registry.errors import Json
from assay.model.errors import Unavailable

Kind = TypeVar("Kind", bound="RegistryModel")


class RegistryModel(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of all responses; fields are camelCase in JSON."""


class ReasonResponse(RegistryModel, frozen=True):
    """A reason code with its message and next step."""

    code: str
    message: str
    next_step: str | None = None


class SubmissionResponse(RegistryModel, frozen=True):
    """A submission in a list. The state is text, because a newer registry may have other states."""

    id: UUID
    repository: str
    skill_name: str
    skill_path: str
    state: str
    source: str
    score: int | None
    reason: ReasonResponse | None
    created_at: datetime
    updated_at: datetime


class FindingResponse(RegistryModel, frozen=True):
    rule_id: str
    severity: str
    confidence: float
    file: str
    line: int
    message: str


class ScanResponse(RegistryModel, frozen=True):
    findings: list[FindingResponse]


class HistoryResponse(RegistryModel, frozen=True):
    """One state change."""

    to_state: str
    trigger: str
    actor: str
    created_at: datetime


class TimingsResponse(RegistryModel, frozen=True):
    """Milliseconds in each stage."""

    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


class DetailResponse(SubmissionResponse, frozen=True):
    """A submission with its history and scan results."""

    published_skill_name: str | None
    state_history: list[HistoryResponse]
    stage_timings: TimingsResponse
    scan_results: list[ScanResponse]
    position: int | None = None
    eta_seconds: int | None = None
    next_step: str | None = None


class PageResponse(RegistryModel, frozen=True):
    submissions: list[SubmissionResponse]
    total: int
    next_cursor: str | None
    total_is_exact: bool = True
    queue_positions: dict[str, int] = {}


class ItemResponse(RegistryModel, frozen=True):
    """The result for one skill of a batch."""

    outcome: str
    id: UUID | None = None
    state: str | None = None
    skill_name: str | None = None
    skill_path: str | None = None
    already_verified: bool = False
    code: str | None = None
    detail: str | None = None


class BatchResponse(RegistryModel, frozen=True):
    results: list[ItemResponse]


class AcceptedResponse(RegistryModel, frozen=True):
    """The result of a submission request."""

    id: UUID
    state: str
    duplicate: bool
    already_verified: bool
    blocked: bool
    batch: BatchResponse | None = None


class DiscoveredResponse(RegistryModel, frozen=True):
    """A skill in a repository."""

    name: str
    path: str


class DiscoverResponse(RegistryModel, frozen=True):
    """All skills of a repository."""

    repo_url: str
    repository: str
    skills: list[DiscoveredResponse]


class EventResponse(RegistryModel, frozen=True):
    """A `state_changed` event."""

    submission_id: UUID
    state: str
    at: datetime


class HandledResponse(RegistryModel, frozen=True):
    """The result of an administrator's request for several submissions."""

    class SkippedResponse(RegistryModel, frozen=True):
        """A submission that was not changed because of its state."""

        id: UUID
        state: str

    changed: list[UUID]
    skipped: list[SkippedResponse]
    missing: list[UUID]


class ReprocessedResponse(RegistryModel, frozen=True):
    """The number of matching submissions by state, and how many were requeued and remain."""

    matched: dict[str, int]
    matched_is_exact: bool
    requeued: int
    remaining: int
    before: datetime


class PauseResponse(RegistryModel, frozen=True):
    reason: str
    paused_by: str
    expires_at: datetime


class ResumedResponse(RegistryModel, frozen=True):
    """The pause that was ended, if the queue was paused."""

    ended: PauseResponse | None


class StuckResponse(RegistryModel, frozen=True):
    """A stuck submission."""

    id: UUID
    state: str
    skill_name: str
    stuck_for_ms: int
    why: str


class StuckPageResponse(RegistryModel, frozen=True):
    stuck: list[StuckResponse]
    next_cursor: str | None


class AlarmResponse(RegistryModel, frozen=True):
    code: str
    message: str
    since: datetime


class OldestResponse(RegistryModel, frozen=True):
    id: UUID
    state: str
    age_ms: int


class DrainResponse(RegistryModel, frozen=True):
    """Submissions decided recently."""

    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")


class PausedResponse(RegistryModel, frozen=True):
    """The pause in effect."""

    reason: str
    until: datetime


class HealthResponse(RegistryModel, frozen=True):
    """The health of the queue."""

    degraded: bool
    alarms: list[AlarmResponse]
    waiting: int
    oldest_waiting: OldestResponse | None
    drain_rate: DrainResponse
    paused: PausedResponse | None


def read_response(kind: type[Kind], response: Json) -> Kind:
    """Convert a response. Raises Unavailable if it does not have the expected fields."""
    try:
        return msgspec.convert(response, kind)
    except msgspec.ValidationError as problem:
        raise Unavailable("The registry's response has an unknown format.", cause=str(problem)) from None
