"""The live events of the queue and the catalogue, derived from changes of the feed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from assay.model.change import ChangeKind
from assay.model.submission import State
from assay.store.feed.changes import QueueChange

ALL_SUBMISSIONS = "all"
CATALOGUE = "catalogue"
TIERS = {State.TIER1_SCANNING: 1, State.TIER2_SCANNING: 2}
# The states that follow a finished scan; a lost lease or a failure does not finish one.
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
class SubmissionMoved:
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
    # The reason given by the person who caused the change.
    said: str | None = None


@dataclass(frozen=True, slots=True)
class ScanFinished:
    """A scan of a submission finished with a score."""

    submission_id: UUID
    skill_name: str
    repository: str
    tier: int
    score: int
    at: datetime


@dataclass(frozen=True, slots=True)
class BatchCreated:
    """Stands for all submissions created by one request."""

    batch: UUID
    count: int
    source: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class CatalogueChanged:
    """A change of the catalogue, as recorded in the change feed."""

    kind: ChangeKind
    skill_id: UUID | None
    data: Mapping[str, object]
    at: datetime


LiveEvent = SubmissionMoved | ScanFinished | BatchCreated | CatalogueChanged


@dataclass(frozen=True, slots=True)
class LiveEvents:
    """The live events of one change, in order, and the topics to publish them to."""

    topics: tuple[str, ...]
    events: tuple[LiveEvent, ...]


class _StateChange(msgspec.Struct, frozen=True):
    """The data of a change of state."""

    to: State
    trigger: str
    start: State | None = msgspec.field(name="from")
    score: int | None = None
    reason: str | None = None
    batch: UUID | None = None
    said: str | None = None


class _Batch(msgspec.Struct, frozen=True):
    """The data of a batch of submissions."""

    batch: UUID
    count: int
    source: str | None = None
    submitter: str | None = None


def topic_of_account(account_id: UUID | str) -> str:
    """Events of the submissions of one account."""
    return f"mine:{account_id}"


def topic_of_submission(submission_id: UUID) -> str:
    """Events of one submission."""
    return f"one:{submission_id}"


def to_live_events(change: QueueChange) -> LiveEvents:
    """Raises msgspec.ValidationError if the data of the change is malformed."""
    match ChangeKind(change.kind):
        case ChangeKind.SUBMISSION:
            return _of_submission(change, msgspec.convert(change.data, _StateChange))
        case ChangeKind.BULK:
            return _of_batch(change, msgspec.convert(change.data, _Batch))
        case kind:
            changed = CatalogueChanged(kind, change.skill_id, change.data, change.created_at)
            return LiveEvents((CATALOGUE,), (changed,))


def _of_batch(change: QueueChange, record: _Batch) -> LiveEvents:
    created = BatchCreated(record.batch, record.count, record.source, change.created_at)
    return LiveEvents((ALL_SUBMISSIONS, *_mine(record.submitter)), (created,))


def _of_submission(change: QueueChange, step: _StateChange) -> LiveEvents:
    if change.submission_id is None or change.skill_name is None:
        raise msgspec.ValidationError("The change has no submission.")
    about = (change.submission_id, change.skill_name, f"{change.owner}/{change.repository}")
    moved = SubmissionMoved(
        *about, step.start, step.to, step.trigger, step.score, step.reason, change.created_at, step.said
    )
    one = topic_of_submission(change.submission_id)
    if step.start is None and step.batch is not None:
        return LiveEvents((one,), (moved,))  # other topics get the event of the batch
    topics = (ALL_SUBMISSIONS, one, *_mine(change.submitter))
    if step.start in TIERS and step.to in AFTER_A_SCAN and step.score is not None:
        return LiveEvents(topics, (ScanFinished(*about, TIERS[step.start], step.score, change.created_at), moved))
    return LiveEvents(topics, (moved,))


def _mine(submitter: str | None) -> tuple[str, ...]:
    return () if submitter is None else (topic_of_account(submitter),)
