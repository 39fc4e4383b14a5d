"""Live events for each change of the queue."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import msgspec
import pytest

from assay.model.submission import TRANSITIONS, State
from assay.serve.feed.live_events import BatchCreated, ScanFinished, SubmissionMoved, to_live_events
from assay.store.feed.changes import QueueChange

NUMBER, BATCH = uuid4(), uuid4()


def a_change(submitted_by: str | None = None, kind: str = "submission", number: UUID | None = NUMBER, **data: object):
    """Return a change feed entry."""
    named = ("pdf", "acme", "tools") if number else (None, None, None)
    return QueueChange(1, kind, number, None, *named, submitted_by, data, datetime(2026, 1, 1, tzinfo=UTC))


def test_new_submission_reaches_all_its_topics() -> None:
    """Everything, its own page and its submitter."""
    events = to_live_events(a_change("someone", **{"from": None, "to": "RECEIVED", "trigger": "submitted"}))
    assert events.topics == ("all", f"one:{NUMBER}", "mine:someone")
    [moved] = events.events
    assert (moved.start, moved.state, moved.repository, moved.skill_name) == (None, "RECEIVED", "acme/tools", "pdf")


def test_batch_member_reaches_its_own_topic_only() -> None:
    """Others receive one event for the batch."""
    record = {"from": None, "to": "RECEIVED", "trigger": "submitted", "batch": str(BATCH)}
    assert to_live_events(a_change("someone", **record)).topics == (f"one:{NUMBER}",)
    batch = {"batch": str(BATCH), "count": 7, "actor": "someone", "source": "bulk", "submitter": "someone"}
    events = to_live_events(a_change(kind="bulk", number=None, **batch))
    assert events.topics == ("all", "mine:someone")
    assert events.events == (BatchCreated(BATCH, 7, "bulk", datetime(2026, 1, 1, tzinfo=UTC)),)
    assert to_live_events(a_change(kind="bulk", number=None, **batch | {"submitter": None})).topics == ("all",)


def test_later_changes_of_a_batch_member_reach_all_topics() -> None:
    record = {"from": "RECEIVED", "to": "TIER1_SCANNING", "trigger": "fetched", "batch": str(BATCH)}
    assert "all" in to_live_events(a_change(**record)).topics


ARROWS = [(start, to) for start, ends in TRANSITIONS.items() for to in sorted(ends)]
NO_VERDICT = {State.RECEIVED, State.FAILED, State.DEQUEUED, State.ON_HOLD}


@pytest.mark.parametrize(("start", "to"), ARROWS)
def test_scan_complete_event_needs_a_result(start: State, to: State) -> None:
    """Only transitions out of a tier with a score."""
    events = to_live_events(a_change(**{"from": start, "to": to, "trigger": "judged", "score": 91}))
    *scans, moved = events.events
    assert isinstance(moved, SubmissionMoved)
    is_complete = start in (State.TIER1_SCANNING, State.TIER2_SCANNING) and to not in NO_VERDICT
    assert [(each.tier, each.score) for each in scans if isinstance(each, ScanFinished)] == (
        [(1 if start is State.TIER1_SCANNING else 2, 91)] if is_complete else []
    )
    without = to_live_events(a_change(**{"from": start, "to": to, "trigger": "judged"}))
    assert len(without.events) == 1, "without a score nothing was scanned"


def test_event_carries_reason_and_score() -> None:
    record = {"from": "TIER1_SCANNING", "to": "TIER1_FAILED", "trigger": "judged", "score": 3, "reason": "critical"}
    moved = to_live_events(a_change(**record)).events[-1]
    assert (moved.score, moved.reason) == (3, "critical")


def test_invalid_record_is_rejected_and_catalogue_changes_are_separate() -> None:
    for bad in ({}, {"from": None, "to": "NOWHERE", "trigger": "x"}, {"from": None, "to": "RECEIVED", "trigger": 5}):
        with pytest.raises(msgspec.ValidationError):
            to_live_events(a_change(**bad))
    with pytest.raises(msgspec.ValidationError):
        to_live_events(a_change(number=None, **{"from": None, "to": "RECEIVED", "trigger": "x"}))
    assert to_live_events(a_change(kind="publish", name="acme/tools/pdf")).topics == ("catalogue",)
