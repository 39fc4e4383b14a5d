"""JSON of the change feed, of public keys and of live events, and the encoding of events as server-sent events."""

from datetime import datetime
from typing import Annotated, Literal, assert_never
from uuid import UUID

import msgspec

from assay.model.change import ChangeKind
from assay.model.submission import State
from assay.serve.feed.live_events import (
    BatchCreated,
    CatalogueChanged,
    LiveEvent,
    LiveEvents,
    ScanFinished,
    SubmissionMoved,
)
from assay.web.http.json import View

RETRY_MILLISECONDS = 2_000


class ChangeView(View, frozen=True):
    """An entry of the change feed."""

    serial: int
    kind: str
    skill_id: UUID | None
    data: dict[str, object]
    created_at: datetime


class ChangesView(View, frozen=True):
    """A page of changes in order. Continue with `since` = `nextSince`, at once if `hasMore`."""

    registry: str
    since: int
    changes: list[ChangeView]
    next_since: int
    has_more: bool


class KeyView(View, frozen=True):
    """A public key: `ed25519` signs hallmarks and responses, `ecdsa-p256` signs `skill.oms.sig`.

    Signatures of a retired key stay valid.
    """

    id: str
    public_key: str
    algorithm: str
    created_at: datetime
    retired_at: datetime | None


class KeysView(View, frozen=True):
    """All keys that this registry has ever signed with, oldest first."""

    keys: list[KeyView]


class SubmissionEventView(View, frozen=True):
    """Data of `submission_created` and `state_changed`. `from` is null for a new submission."""

    submission_id: UUID
    skill_name: str
    repository: str
    from_state: State | None = msgspec.field(name="from")
    state: State
    trigger: str
    score: int | None
    reason: Annotated[str | None, msgspec.Meta(description="The reason code.")]
    at: datetime
    said: Annotated[str | None, msgspec.Meta(description="The reason given by the person who caused the change.")]


class ScanCompleteView(View, frozen=True):
    """Data of `scan_complete`. The resulting `state_changed` follows."""

    submission_id: UUID
    skill_name: str
    repository: str
    tier: int
    score: int
    at: datetime


class SubmissionsCreatedView(View, frozen=True):
    """Data of `submissions_created`: one event for all submissions of a batch."""

    batch: UUID
    count: int
    source: str | None
    at: datetime


class GoneView(View, frozen=True):
    """Data of `gone`: the events since `Last-Event-ID` are no longer available. Read the list again."""

    reason: Literal["too_old", "unknown"]
    newest: Annotated[int, msgspec.Meta(description="The serial after which this stream continues.")]


class ChangeEventView(View, frozen=True):
    """Data of `catalogue_changed`, as in `/api/v1/changes`."""

    kind: ChangeKind
    skill_id: UUID | None
    data: dict[str, object]
    created_at: datetime


QueueEventView = SubmissionEventView | ScanCompleteView | SubmissionsCreatedView | GoneView


def encode_live_events(serial: int, events: LiveEvents) -> bytes:
    """Encode all events of one change. Only the last has the id, so that a client resumes after all of them."""
    *first, last = events.events
    return b"".join([*map(_encode, first), _encode(last, serial)])


def encode_opening(start: int) -> bytes:
    """Encode the start of a stream: the reconnection delay, and an id to resume from before the first event."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {start}\n\n".encode()


def encode_gone(after: int, newest: int) -> bytes:
    """Encode that events are missing between `after` and what follows."""
    reason: Literal["too_old", "unknown"] = "unknown" if after > newest else "too_old"
    return _block("gone", GoneView(reason=reason, newest=newest), newest)


def _encode(event: LiveEvent, serial: int | None = None) -> bytes:
    match event:
        case SubmissionMoved():
            name = "submission_created" if event.start is None else "state_changed"
            return _block(name, SubmissionEventView.of(event, from_state=event.start), serial)
        case ScanFinished():
            return _block("scan_complete", ScanCompleteView.of(event), serial)
        case BatchCreated():
            return _block("submissions_created", SubmissionsCreatedView.of(event), serial)
        case CatalogueChanged():
            return _block("catalogue_changed", ChangeEventView.of(event, created_at=event.at), serial)
        case _:
            assert_never(event)


def _block(name: str, view: View, serial: int | None) -> bytes:
    identified = b"" if serial is None else b"id: %d\n" % serial
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), identified, msgspec.json.encode(view))
