"""What the queue's changes mean to those who watch it."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import msgspec
import pytest

from assay.model.submission import TRANSITIONS, State
from assay.serve.feed.live_events import BatchCreated, Moved, Scanned, understand
from assay.store.feed.changes import QueueChange

NUMBER, BATCH = uuid4(), uuid4()


def a_change(submitted_by: str | None = None, kind: str = "submission", number: UUID | None = NUMBER, **data: object):
    """An entry of the feed."""
    named = ("pdf", "acme", "tools") if number else (None, None, None)
    return QueueChange(1, kind, number, None, *named, submitted_by, data, datetime(2026, 1, 1, tzinfo=UTC))


def test_a_new_submission_concerns_everybody_its_own_page_and_its_submitter() -> None:
    """The three kinds of listeners."""
    happenings = understand(a_change("someone", **{"from": None, "to": "RECEIVED", "trigger": "submitted"}))
    assert happenings.topics == ("all", f"one:{NUMBER}", "mine:someone")
    [moved] = happenings.all
    assert (moved.start, moved.state, moved.repository, moved.skill_name) == (None, "RECEIVED", "acme/tools", "pdf")


def test_a_submission_of_a_batch_concerns_only_its_own_page() -> None:
    """The others hear of the batch, once."""
    record = {"from": None, "to": "RECEIVED", "trigger": "submitted", "batch": str(BATCH)}
    assert understand(a_change("someone", **record)).topics == (f"one:{NUMBER}",)
    batch = {"batch": str(BATCH), "count": 7, "actor": "someone", "source": "bulk", "submitter": "someone"}
    happenings = understand(a_change(kind="bulk", number=None, **batch))
    assert happenings.topics == ("all", "mine:someone")
    assert happenings.all == (BatchCreated(BATCH, 7, "bulk", datetime(2026, 1, 1, tzinfo=UTC)),)
    assert understand(a_change(kind="bulk", number=None, **batch | {"submitter": None})).topics == ("all",)


def test_what_happens_later_to_a_submission_of_a_batch_concerns_everybody() -> None:
    """The batch stands for their creation only."""
    record = {"from": "RECEIVED", "to": "TIER1_SCANNING", "trigger": "fetched", "batch": str(BATCH)}
    assert "all" in understand(a_change(**record)).topics


ARROWS = [(start, to) for start, ends in TRANSITIONS.items() for to in sorted(ends)]
NO_VERDICT = {State.RECEIVED, State.FAILED, State.DEQUEUED, State.ON_HOLD}


@pytest.mark.parametrize(("start", "to"), ARROWS)
def test_a_scan_is_complete_when_it_led_to_something(start: State, to: State) -> None:
    """Exactly the arrows out of a tier that carry its score; taken out, parked or given up is no end of a scan."""
    happenings = understand(a_change(**{"from": start, "to": to, "trigger": "judged", "score": 91}))
    *scans, moved = happenings.all
    assert isinstance(moved, Moved)
    is_complete = start in (State.TIER1_SCANNING, State.TIER2_SCANNING) and to not in NO_VERDICT
    assert [(each.tier, each.score) for each in scans if isinstance(each, Scanned)] == (
        [(1 if start is State.TIER1_SCANNING else 2, 91)] if is_complete else []
    )
    without = understand(a_change(**{"from": start, "to": to, "trigger": "judged"}))
    assert len(without.all) == 1, "without a score nothing was scanned"


def test_reason_and_score_are_told() -> None:
    """A refusal carries its reason."""
    record = {"from": "TIER1_SCANNING", "to": "TIER1_FAILED", "trigger": "judged", "score": 3, "reason": "critical"}
    moved = understand(a_change(**record)).all[-1]
    assert (moved.score, moved.reason) == (3, "critical")


def test_what_is_no_record_is_refused_and_the_catalogue_is_another_topic() -> None:
    """A row that nobody understands must be noticed, and a publication is not the queue's business."""
    for bad in ({}, {"from": None, "to": "NOWHERE", "trigger": "x"}, {"from": None, "to": "RECEIVED", "trigger": 5}):
        with pytest.raises(msgspec.ValidationError):
            understand(a_change(**bad))
    with pytest.raises(msgspec.ValidationError):
        understand(a_change(number=None, **{"from": None, "to": "RECEIVED", "trigger": "x"}))
    assert understand(a_change(kind="publish", name="acme/tools/pdf")).topics == ("catalogue",)
