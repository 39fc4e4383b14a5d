"""Retries, snoozes and failures of submissions; none of them is a verdict."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import Reason, State, Submission
from assay.queue.outcome import Done, Outcome, Retry, RetryPolicy
from assay.store.submissions.transitions import Step, move, update_in_place

NEXT_STEP = "The skill itself is not at fault. Submit it again later, or ask an operator to requeue it."


async def snooze(db: AsyncConnection, submission: Submission, reason: Reason, seconds: float) -> Outcome:
    """Release the submission for `seconds` without counting an attempt."""
    await _release(db, submission, reason, "waiting", attempts=submission.attempts, claims=submission.claims - 1)
    return Retry(seconds)


async def retry_or_fail(db: AsyncConnection, submission: Submission, reason: Reason, policy: RetryPolicy) -> Outcome:
    """Count the attempt and release the submission; after the last attempt, move it to FAILED."""
    attempts = submission.attempts + 1
    delay = policy.delay(attempts)
    if delay is None:
        return await give_up(db, submission, reason, attempts=attempts)
    await _release(db, submission, reason, "retry", attempts=attempts, claims=submission.claims)
    return Retry(delay)


async def give_up(db: AsyncConnection, submission: Submission, reason: Reason, *, attempts: int) -> Outcome:
    """Move the submission to FAILED with the reason of the last attempt."""
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
