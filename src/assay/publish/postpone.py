"""Postpone: try again later, wait for a rate limit, or give up visibly. None of these is a verdict."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import Reason, State, Submission
from assay.queue.outcome import Again, Done, Outcome
from assay.queue.retry import RetryBudget
from assay.store.submissions.transitions import Step, move, update_in_place

NEXT_STEP = "Nothing is wrong with the skill; submit it again, or an operator can requeue it."


async def snooze(db: AsyncConnection, submission: Submission, reason: Reason, seconds: float) -> Outcome:
    """Waiting for the outside world is a delay, not an attempt."""
    await _release(db, submission, reason, "waiting", attempts=submission.attempts, claims=submission.claims - 1)
    return Again(seconds)


async def retry_or_fail(db: AsyncConnection, submission: Submission, reason: Reason, budget: RetryBudget) -> Outcome:
    """Count the attempt; after the last one the submission rests in FAILED, where people can see it."""
    attempts = submission.attempts + 1
    delay = budget.delay(attempts)
    if delay is None:
        return await give_up(db, submission, reason, attempts=attempts)
    await _release(db, submission, reason, "retry", attempts=attempts, claims=submission.claims)
    return Again(delay)


async def give_up(db: AsyncConnection, submission: Submission, reason: Reason, *, attempts: int) -> Outcome:
    """FAILED, with the reason of the last attempt."""
    step = Step(State.FAILED, "retries exhausted", {"reason": reason.code, "attempts": attempts})
    await move(
        db,
        submission,
        step,
        actor="worker",
        attempts=attempts,
        reason_code=reason.code,
        reason_message=reason.message,
        next_step=reason.next_step or NEXT_STEP,
    )
    return Done()


async def _release(
    db: AsyncConnection, submission: Submission, reason: Reason, trigger: str, *, attempts: int, claims: int
) -> None:
    columns = {
        "attempts": attempts,
        "claims": claims,
        "reason_code": reason.code,
        "reason_message": reason.message,
        "lease_owner": None,
        "lease_expires_at": None,
    }
    if submission.state is State.RECEIVED:
        await update_in_place(db, submission, **columns)
    else:
        step = Step(State.RECEIVED, trigger, {"reason": reason.code, "attempts": attempts})
        await move(db, submission, step, actor="worker", **columns)
