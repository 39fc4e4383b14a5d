"""Live events as clients see them: the data of each, typed, and their form on the wire (Server-Sent Events)."""

from datetime import datetime
from typing import Annotated, Literal, assert_never
from uuid import UUID

import msgspec

from assay.model.change import ChangeKind
from assay.model.submission import State
from assay.serve.feed.live_events import BatchCreated, CatalogueChanged, Happening, Happenings, Moved, Scanned
from assay.web.http.json import View

RETRY_MILLISECONDS = 2_000


class SubmissionEventView(View, frozen=True):
    """Data of `submission_created` and `state_changed`; `from` is null when it was created."""

    submission_id: UUID
    skill_name: str
    repository: str
    from_state: State | None = msgspec.field(name="from")
    state: State
    trigger: str
    score: int | None
    reason: Annotated[str | None, msgspec.Meta(description="The code of the reason.")]
    at: datetime
    said: Annotated[str | None, msgspec.Meta(description="Why, in the words of the person who did it.")]


class ScanCompleteView(View, frozen=True):
    """Data of `scan_complete`; the `state_changed` that it led to follows."""

    submission_id: UUID
    skill_name: str
    repository: str
    tier: int
    score: int
    at: datetime


class SubmissionsCreatedView(View, frozen=True):
    """Data of `submissions_created`: so many at once, without an event for each."""

    batch: UUID
    count: int
    source: str | None
    at: datetime


class GoneView(View, frozen=True):
    """Data of `gone`: what happened since the `Last-Event-ID` is not kept any more. Read the list again."""

    reason: Literal["too_old", "unknown"]
    newest: Annotated[int, msgspec.Meta(description="The serial from which this stream goes on.")]


class ChangeEventView(View, frozen=True):
    """Data of `catalogue_changed`: what `/api/v1/changes` says of it, too."""

    kind: ChangeKind
    skill_id: UUID | None
    data: dict[str, object]
    created_at: datetime


EventView = SubmissionEventView | ScanCompleteView | SubmissionsCreatedView | GoneView


def encode_happenings(serial: int, happenings: Happenings) -> bytes:
    """All events of one change. Only the last has the id: who has seen that one has seen them all."""
    *first, last = happenings.all
    return b"".join([*map(_encode, first), _encode(last, serial)])


def encode_opening(start: int) -> bytes:
    """The first words: when to come back, and the id to come back with if nothing happens before."""
    return f"retry: {RETRY_MILLISECONDS}\nid: {start}\n\n".encode()


def encode_gone(after: int, newest: int) -> bytes:
    """Says that there is a gap before what follows."""
    reason: Literal["too_old", "unknown"] = "unknown" if after > newest else "too_old"
    return _block("gone", GoneView(reason=reason, newest=newest), newest)


def encode_keepalive(newest: int) -> bytes:
    """A line for whatever closes quiet connections; its id keeps a listener to whom nothing happens up to date."""
    return f": keepalive\nid: {newest}\n\n".encode()


def _encode(happening: Happening, serial: int | None = None) -> bytes:
    match happening:
        case Moved():
            name = "submission_created" if happening.start is None else "state_changed"
            return _block(name, _present_move(happening), serial)
        case Scanned():
            return _block("scan_complete", _present_scan(happening), serial)
        case BatchCreated(batch, count, source, at):
            return _block(
                "submissions_created", SubmissionsCreatedView(batch=batch, count=count, source=source, at=at), serial
            )
        case CatalogueChanged(kind, skill_id, data, at):
            view = ChangeEventView(kind=kind, skill_id=skill_id, data=dict(data), created_at=at)
            return _block("catalogue_changed", view, serial)
        case _:
            assert_never(happening)


def _present_move(moved: Moved) -> SubmissionEventView:
    return SubmissionEventView(
        submission_id=moved.submission_id,
        skill_name=moved.skill_name,
        repository=moved.repository,
        from_state=moved.start,
        state=moved.state,
        trigger=moved.trigger,
        score=moved.score,
        reason=moved.reason,
        at=moved.at,
        said=moved.said,
    )


def _present_scan(scanned: Scanned) -> ScanCompleteView:
    return ScanCompleteView(
        submission_id=scanned.submission_id,
        skill_name=scanned.skill_name,
        repository=scanned.repository,
        tier=scanned.tier,
        score=scanned.score,
        at=scanned.at,
    )


def _block(name: str, view: View, serial: int | None) -> bytes:
    identified = b"" if serial is None else b"id: %d\n" % serial
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), identified, msgspec.json.encode(view))
