"""The queue as people see it: pages of submissions, and one of them with everything that happened to it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.scan import Scan
from assay.model.submission import State, Submission, SubmissionEvent
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.stats import Stats, read_stats, total_of
from assay.store.events import list_events
from assay.store.scans import list_scans
from assay.store.skills import find_name
from assay.store.submissions import get_submission, list_submissions


@dataclass(frozen=True)
class QueuePage:
    """A page of submissions, and the numbers of the same moment."""

    submissions: list[Submission]
    total: int
    next_cursor: str | None
    stats: Stats


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
    """A submission with its history, its scans and the listing it led to."""

    submission: Submission
    history: list[SubmissionEvent]
    scans: list[Scan]
    timings: StageTimings
    listing_name: str | None


async def read_queue(
    db: AsyncConnection, *, states: frozenset[State] | None, cursor: str | None, limit: int, now: datetime
) -> QueuePage:
    """Newest first. The connection must be one snapshot, so that list and numbers cannot disagree."""
    position = decode_cursor(cursor)
    found = await list_submissions(db, states=states, before=position, limit=limit + 1)
    page = found[:limit]
    more = encode_cursor(page[-1].created_at, page[-1].id) if len(found) > limit else None
    stats = await read_stats(db, now)
    return QueuePage(page, total_of(stats, states), more, stats)


async def read_submission(db: AsyncConnection, submission_id: UUID, now: datetime) -> SubmissionDetail:
    """One submission, or NotFound."""
    submission = await get_submission(db, submission_id)
    digest = submission.content_digest
    return SubmissionDetail(
        submission=submission,
        history=await list_events(db, submission_id),
        scans=await list_scans(db, digest) if digest else [],
        timings=_timings(submission, now),
        listing_name=await find_name(db, submission.skill_id) if submission.skill_id else None,
    )


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
