"""One submission with everything that happened to it, where it stands, and what to do next."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.appeal import Appeal
from assay.model.human_decisions import NOTHING_SAID, Said
from assay.model.scan import Scan
from assay.model.submission import Submission, SubmissionEvent
from assay.serve.queue.position import Place, position_of_all, read_estimate
from assay.serve.submissions.next_step import next_step
from assay.store.moderation.appeals import find_appeals
from assay.store.moderation.suppressions import find_suppressions
from assay.store.scans.scans import list_scans
from assay.store.skills.skills import find_name
from assay.store.submissions.events import list_events
from assay.store.submissions.submissions import get_submission


@dataclass(frozen=True)
class StageTimings:
    """When each stage began, and how long the submission has spent in it, in milliseconds."""

    received_at: datetime
    scanning_at: datetime | None
    decided_at: datetime | None
    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


@dataclass(frozen=True)
class SubmissionDetail:
    """A submission with its history, its scans, its place in the queue and the listing it led to."""

    submission: Submission
    history: list[SubmissionEvent]
    scans: list[Scan]
    timings: StageTimings
    listing_name: str | None
    place: Place | None
    next_step: str
    said: Said = NOTHING_SAID
    appeal: Appeal | None = None


async def read_submission(db: AsyncConnection, submission_id: UUID, now: datetime) -> SubmissionDetail:
    """One submission, or NotFound."""
    submission = await get_submission(db, submission_id)
    digest = submission.content_digest
    history = await list_events(db, submission_id)
    listing_name = await find_name(db, submission.skill_id) if submission.skill_id else None
    place = await _place(db, submission, now)
    skill = submission.repository.id, submission.skill_path
    return SubmissionDetail(
        submission=submission,
        history=history,
        scans=await list_scans(db, digest) if digest else [],
        timings=_timings(submission, now),
        listing_name=listing_name,
        place=place,
        next_step=next_step(submission, history, place, listing_name),
        said=Said(suppressions=tuple(await find_suppressions(db, [digest], [skill]))) if digest else NOTHING_SAID,
        appeal=(await find_appeals(db, [submission_id])).get(submission_id) if digest else None,
    )


async def _place(db: AsyncConnection, submission: Submission, now: datetime) -> Place | None:
    position = (await position_of_all(db, [submission])).get(submission.id)
    return (await read_estimate(db, now)).place(position, now) if position else None


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
