"""JSON of submissions: lists, positions, counts, and one submission with its history and scans."""

from datetime import datetime
from typing import Any
from uuid import UUID

from assay.model.moderation import Appeal, AppealStatus
from assay.model.submission import Origin, State, StateGroup, Submission, group_of
from assay.serve.queue.position import QueuePosition, QueuePositions
from assay.serve.queue.queue import QueuePage
from assay.serve.submissions.stats import Stats
from assay.serve.submissions.submission import SubmissionDetail
from assay.web.findings.json import ScanView, present_scan
from assay.web.http.json import View
from assay.web.http.links import repository_url


class ReasonView(View, frozen=True):
    """The reason for a state, and what to do next."""

    code: str
    message: str
    next_step: str | None


class SubmissionView(View, frozen=True):
    """A submission in a list."""

    id: UUID
    repo_url: str | None
    repository: str
    skill_name: str
    skill_path: str
    state: State
    category: StateGroup
    source: Origin
    score: int | None
    attempts: int
    reason: ReasonView | None
    created_at: datetime
    updated_at: datetime


class SubmissionPageView(View, frozen=True):
    """A page of submissions from one snapshot. `total` is a lower bound unless `totalIsExact`.

    `queuePositions` has the positions of the submissions on this page that wait; 10,001 stands for all positions from
    there on.
    """

    submissions: list[SubmissionView]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    queue_positions: dict[str, int]
    generated_at: datetime


class PositionView(View, frozen=True):
    """A position in the queue; 1 is next. If it is not exact, position and estimate are lower bounds. The estimate is
    null if it is unknown.
    """

    position: int
    position_is_exact: bool
    eta_seconds: int | None


class PositionsView(View, frozen=True):
    """Positions by submission id, without those that do not wait. `waiting` counts all waiting submissions."""

    positions: dict[str, PositionView]
    waiting: int
    generated_at: datetime


class EventView(View, frozen=True):
    """A change of state."""

    from_state: State | None
    to_state: State
    trigger: str
    actor: str
    metadata: dict[str, object]
    created_at: datetime


class TimingsView(View, frozen=True):
    """The start and duration of each stage."""

    received_at: datetime
    scanning_at: datetime | None
    decided_at: datetime | None
    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


class AppealView(View, frozen=True):
    """The author's appeal against the refusal of this content. Only its author and reviewers see the `text`."""

    id: UUID
    status: AppealStatus
    created_at: datetime
    text: str | None
    answer: str | None
    answered_at: datetime | None


class SubmissionDetailView(SubmissionView, frozen=True):
    """A submission with its history, scans and next step.

    Only a waiting submission has a position; `waitingUntil` is set if it is not due yet.
    """

    position: int | None
    position_is_exact: bool | None
    eta_seconds: int | None
    waiting_until: datetime | None
    next_step: str
    mine: bool
    content_digest: str | None
    published_skill_name: str | None
    state_history: list[EventView]
    stage_timings: TimingsView
    scan_results: list[ScanView]
    appeal: AppealView | None


class StatsView(View, frozen=True):
    """The number of submissions by group and state, and of live listings, from one snapshot."""

    total: int
    active: int
    published: int
    rejected: int
    review: int
    failed: int
    blocked: int
    on_hold: int
    by_state: dict[str, int]
    skills: int
    generated_at: datetime


def present_submission(submission: Submission, web_url: str) -> SubmissionView:
    return SubmissionView.of(submission, **_submission_fields(submission, web_url))


def present_queue(page: QueuePage, web_url: str) -> SubmissionPageView:
    return SubmissionPageView.of(
        page,
        submissions=[present_submission(each, web_url) for each in page.submissions],
        queue_positions={str(number): position.number for number, position in page.positions.items()},
        generated_at=page.stats.as_of,
    )


def present_positions(positions: QueuePositions) -> PositionsView:
    return PositionsView(
        positions={str(number): PositionView(**_position_fields(each)) for number, each in positions.by_id.items()},
        waiting=positions.waiting,
        generated_at=positions.as_of,
    )


def present_detail(
    detail: SubmissionDetail, web_url: str, ruleset: str, *, mine: bool, shows_appeal: bool = False
) -> SubmissionDetailView:
    """Convert a submission; `shows_appeal` includes the text of the appeal, for its author and reviewers."""
    submission, position = detail.submission, detail.queue_position
    return SubmissionDetailView.of(
        submission,
        **_submission_fields(submission, web_url),
        **_position_fields(position),
        waiting_until=position.position.due_at if position else None,
        next_step=detail.next_step,
        mine=mine,
        published_skill_name=detail.listing_name,
        state_history=detail.history,
        stage_timings=detail.timings,
        scan_results=[present_scan(scan, ruleset, detail.decisions) for scan in detail.scans],
        appeal=present_appeal(detail.appeal, with_text=shows_appeal) if detail.appeal else None,
    )


def present_appeal(appeal: Appeal, *, with_text: bool) -> AppealView:
    return AppealView.of(appeal, text=appeal.text if with_text else None)


def present_stats(stats: Stats) -> StatsView:
    group = stats.by_category
    return StatsView.of(
        stats,
        active=group[StateGroup.ACTIVE],
        published=group[StateGroup.PUBLISHED],
        rejected=group[StateGroup.REJECTED],
        review=group[StateGroup.REVIEW],
        failed=group[StateGroup.FAILED],
        blocked=group[StateGroup.BLOCKED],
        on_hold=group[StateGroup.ON_HOLD],
        by_state={state.value: number for state, number in stats.by_state.items()},
        generated_at=stats.as_of,
    )


def _submission_fields(submission: Submission, web_url: str) -> dict[str, Any]:
    """Return the fields of SubmissionView whose names or types differ from those of a submission."""
    return {
        "repo_url": repository_url(submission.repository.name, web_url),
        "repository": str(submission.repository.name),
        "category": group_of(submission.state),
        "source": submission.origin,
    }


def _position_fields(position: QueuePosition | None) -> dict[str, Any]:
    return {
        "position": position.position.number if position else None,
        "position_is_exact": position.position.is_exact if position else None,
        "eta_seconds": position.eta_seconds if position else None,
    }
