"""A submission with its history, scans, position, and the next step for its author."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.moderation import NO_DECISIONS, Appeal, HumanDecisions
from assay.model.submission import Submission, SubmissionEvent
from assay.model.verdict import Scan
from assay.serve.queue.position import QueuePosition, find_waiting_positions, read_estimate
from assay.serve.submissions.next_step import next_step
from assay.store.moderation.appeals import find_appeals
from assay.store.moderation.suppressions import find_suppressions
from assay.store.scans.scans import list_scans
from assay.store.skills.skills import find_name
from assay.store.submissions.submissions import get_submission, list_events


@dataclass(frozen=True)
class StageTimings:
    """The start of each stage, and the time spent in it in milliseconds."""

    received_at: datetime
    scanning_at: datetime | None
    decided_at: datetime | None
    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


@dataclass(frozen=True)
class SubmissionDetail:
    submission: Submission
    history: list[SubmissionEvent]
    scans: list[Scan]
    timings: StageTimings
    listing_name: str | None
    queue_position: QueuePosition | None
    next_step: str
    decisions: HumanDecisions = NO_DECISIONS
    appeal: Appeal | None = None


async def read_submission(db: AsyncConnection, submission_id: UUID, now: datetime) -> SubmissionDetail:
    """Read a submission in any state; raises NotFound."""
    submission = await get_submission(db, submission_id)
    digest = submission.content_digest
    history = await list_events(db, submission_id)
    listing_name = await find_name(db, submission.skill_id) if submission.skill_id else None
    position = await _queue_position(db, submission, now)
    skill = submission.repository.id, submission.skill_path
    return SubmissionDetail(
        submission=submission,
        history=history,
        scans=await list_scans(db, digest) if digest else [],
        timings=_timings(submission, now),
        listing_name=listing_name,
        queue_position=position,
        next_step=next_step(submission, history, position, listing_name),
        decisions=HumanDecisions(suppressions=tuple(await find_suppressions(db, [digest], [skill])))
        if digest
        else NO_DECISIONS,
        appeal=(await find_appeals(db, [submission_id])).get(submission_id) if digest else None,
    )


async def _queue_position(db: AsyncConnection, submission: Submission, now: datetime) -> QueuePosition | None:
    position = (await find_waiting_positions(db, [submission])).get(submission.id)
    return (await read_estimate(db, now)).of(position, now) if position else None


def _timings(submission: Submission, now: datetime) -> StageTimings:
    end = submission.decided_at or now
    scanning = submission.scanning_at
    return StageTimings(
        received_at=submission.received_at,
        scanning_at=scanning,
        decided_at=submission.decided_at,
        ms_in_received=_milliseconds(submission.received_at, scanning or end),
        ms_in_scanning=_milliseconds(scanning, end) if scanning else None,
        total_ms=_milliseconds(submission.received_at, end),
    )


def _milliseconds(start: datetime, end: datetime) -> int:
    return max(0, round((end - start).total_seconds() * 1000))
