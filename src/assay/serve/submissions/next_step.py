"""What the author of a submission does next: one sentence for every state."""

from collections.abc import Sequence
from typing import assert_never

from assay.model.submission import Reason, State, Submission, SubmissionEvent
from assay.serve.queue.position import Place

FIX_AND_SUBMIT = "Change what the reason names, then submit the skill again."
ASK_REVIEWER = "A reviewer will look at it; to be published without one, address the findings and submit it again."
SUBMIT_AGAIN = "Nothing is wrong with the skill; submit it again, or an operator can requeue it."
ASK_OPERATOR = "Ask the operators of this registry; they blocked it and can unblock it."


def next_step(
    submission: Submission, history: Sequence[SubmissionEvent], place: Place | None, listing_name: str | None
) -> str:
    """What the reason says if it says something, else what the state asks for."""
    match submission.state:
        case State.RECEIVED:
            return _while_waiting(submission, place)
        case State.TIER1_SCANNING | State.TIER2_SCANNING | State.AUTO_APPROVED:
            return "Nothing: it is being examined right now."
        case State.PUBLISHED:
            return f"Nothing: it is listed as {listing_name}. Submit it again when its files have changed."
        case State.TIER1_FAILED | State.REJECTED:
            return _said(submission.reason, FIX_AND_SUBMIT)
        case State.NEEDS_REVIEW:
            return _said(submission.reason, ASK_REVIEWER)
        case State.FAILED:
            return _said(submission.reason, SUBMIT_AGAIN)
        case State.BLOCKED:
            return _said(submission.reason, ASK_OPERATOR)
        case State.DEQUEUED:
            return _parked("taken out of the queue", submission, history)
        case State.ON_HOLD:
            return _parked("put on hold", submission, history)
        case _:
            assert_never(submission.state)


def _while_waiting(submission: Submission, place: Place | None) -> str:
    if place is None:
        return "Nothing: a worker has it."
    number = f"{'' if place.position.is_exact else 'at least '}{place.position.number:,}"
    if place.position.due_at is not None:
        return f"Nothing: Assay tries it again by itself, when its time comes; it is number {number} in the queue."
    return f"Nothing: it is number {number} in the queue."


def _parked(verb: str, submission: Submission, history: Sequence[SubmissionEvent]) -> str:
    """Why and by whom comes first, because that is who can let it go on."""
    actor = history[-1].actor if history else "an operator"
    why = f": {submission.reason.message}" if submission.reason else ""
    return (
        f"It was {verb} by {actor}{why.rstrip('.')}. {_said(submission.reason, 'Ask them before you submit it again.')}"
    )


def _said(reason: Reason | None, otherwise: str) -> str:
    return reason.next_step if reason and reason.next_step else otherwise
