"""What a change of the feed means to those who watch the queue or the catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from assay.model.change import ChangeKind
from assay.model.submission import State
from assay.store.feed.changes import QueueChange

EVERYBODY = "all"
CATALOGUE = "catalogue"
TIERS = {State.TIER1_SCANNING: 1, State.TIER2_SCANNING: 2}
# Where a scan that ended leads; a lease that was lost or a failure is no end of a scan.
AFTER_A_SCAN = frozenset(
    {
        State.TIER2_SCANNING,
        State.AUTO_APPROVED,
        State.NEEDS_REVIEW,
        State.TIER1_FAILED,
        State.REJECTED,
        State.BLOCKED,
    }
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A submission was created (`start` is None) or changed its state."""

    submission_id: UUID
    skill_name: str
    repository: str
    start: State | None
    state: State
    trigger: str
    score: int | None
    reason: str | None
    at: datetime
    # Why, in the words of the person who did it.
    said: str | None = None


@dataclass(frozen=True, slots=True)
class Scanned:
    """A scan of a submission has ended with a score."""

    submission_id: UUID
    skill_name: str
    repository: str
    tier: int
    score: int
    at: datetime


@dataclass(frozen=True, slots=True)
class BatchCreated:
    """Many submissions were created together; this stands for all of them."""

    batch: UUID
    count: int
    source: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class CatalogueChanged:
    """Something in the catalogue is no longer as it was."""

    kind: ChangeKind
    skill_id: UUID | None
    data: Mapping[str, object]
    at: datetime


Happening = Moved | Scanned | BatchCreated | CatalogueChanged


@dataclass(frozen=True, slots=True)
class Happenings:
    """What one change means, in order, and the topics of those whom it concerns."""

    topics: tuple[str, ...]
    all: tuple[Happening, ...]


class _Step(msgspec.Struct, frozen=True):
    """The record of a change of state."""

    to: State
    trigger: str
    start: State | None = msgspec.field(name="from")
    score: int | None = None
    reason: str | None = None
    batch: UUID | None = None
    said: str | None = None


class _Batch(msgspec.Struct, frozen=True):
    """The record of many submissions that were created together."""

    batch: UUID
    count: int
    source: str | None = None
    submitter: str | None = None


def topic_of_account(account_id: UUID | str) -> str:
    """What concerns the submissions of one account."""
    return f"mine:{account_id}"


def topic_of_submission(submission_id: UUID) -> str:
    """What concerns one submission."""
    return f"one:{submission_id}"


def understand(change: QueueChange) -> Happenings:
    """What it means. Raises msgspec.ValidationError if it is not a record."""
    match ChangeKind(change.kind):
        case ChangeKind.SUBMISSION:
            return _of_submission(change, msgspec.convert(change.data, _Step))
        case ChangeKind.BULK:
            return _of_batch(change, msgspec.convert(change.data, _Batch))
        case kind:
            changed = CatalogueChanged(kind, change.skill_id, change.data, change.created_at)
            return Happenings((CATALOGUE,), (changed,))


def _of_batch(change: QueueChange, record: _Batch) -> Happenings:
    created = BatchCreated(record.batch, record.count, record.source, change.created_at)
    return Happenings((EVERYBODY, *_mine(record.submitter)), (created,))


def _of_submission(change: QueueChange, step: _Step) -> Happenings:
    if change.submission_id is None or change.skill_name is None:
        raise msgspec.ValidationError("It names no submission.")
    about = (change.submission_id, change.skill_name, f"{change.owner}/{change.repository}")
    moved = Moved(*about, step.start, step.to, step.trigger, step.score, step.reason, change.created_at, step.said)
    one = topic_of_submission(change.submission_id)
    if step.start is None and step.batch is not None:
        return Happenings((one,), (moved,))  # everybody else hears of the batch
    topics = (EVERYBODY, one, *_mine(change.submitter))
    if step.start in TIERS and step.to in AFTER_A_SCAN and step.score is not None:
        return Happenings(topics, (Scanned(*about, TIERS[step.start], step.score, change.created_at), moved))
    return Happenings(topics, (moved,))


def _mine(submitter: str | None) -> tuple[str, ...]:
    return () if submitter is None else (topic_of_account(submitter),)
