"""The next step for the author of a submission: one sentence for every state."""

from collections.abc import Sequence
from typing import assert_never

from assay.model.submission import Reason, State, Submission, SubmissionEvent
from assay.serve.queue.position import QueuePosition

FIX_AND_SUBMIT = "Fix the problem named in the reason, then submit the skill again."
AWAIT_REVIEW = "A reviewer will decide. To be published without a review, fix the findings and submit the skill again."
SUBMIT_AGAIN = "The skill itself is not the cause. Submit it again, or ask an operator to requeue it."
ASK_OPERATOR = "The operators of this registry blocked it. Ask them to unblock it."


def next_step(
    submission: Submission, history: Sequence[SubmissionEvent], position: QueuePosition | None, listing_name: str | None
) -> str:
    """Return the next step given with the reason, if any, otherwise that of the state."""
    match submission.state:
        case State.RECEIVED:
            return _while_waiting(position)
        case State.TIER1_SCANNING | State.TIER2_SCANNING | State.AUTO_APPROVED:
            return "No action needed: the skill is being examined."
        case State.PUBLISHED:
            return f"No action needed: the skill is listed as {listing_name}. Submit it again when its files change."
        case State.TIER1_FAILED | State.REJECTED:
            return _reason_or(submission.reason, FIX_AND_SUBMIT)
        case State.NEEDS_REVIEW:
            return _reason_or(submission.reason, AWAIT_REVIEW)
        case State.FAILED:
            return _reason_or(submission.reason, SUBMIT_AGAIN)
        case State.BLOCKED:
            return _reason_or(submission.reason, ASK_OPERATOR)
        case State.DEQUEUED:
            return _parked("removed from the queue", submission, history)
        case State.ON_HOLD:
            return _parked("put on hold", submission, history)
        case _:
            assert_never(submission.state)


def _while_waiting(position: QueuePosition | None) -> str:
    if position is None:
        return "No action needed: a worker is processing it."
    number = f"{'' if position.position.is_exact else 'at least '}{position.position.number:,}"
    if position.position.due_at is not None:
        return f"No action needed: it will be retried automatically. It is number {number} in the queue."
    return f"No action needed: it is number {number} in the queue."


def _parked(verb: str, submission: Submission, history: Sequence[SubmissionEvent]) -> str:
    """Start with the actor and the reason, because the actor can resume it."""
    actor = history[-1].actor if history else "an operator"
    why = f": {submission.reason.message}" if submission.reason else ""
    step = _reason_or(submission.reason, "Ask them before you submit it again.")
    return f"It was {verb} by {actor}{why.rstrip('.')}. {step}"


def _reason_or(reason: Reason | None, otherwise: str) -> str:
    return reason.next_step if reason and reason.next_step else otherwise
