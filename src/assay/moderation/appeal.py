"""Appeals: an author asks for a person to review a refusal, once per content."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import require_submission_owner
from assay.accounts.rate_limit import RateLimit, caller_key, enforce_rate_limit
from assay.model.account import Caller
from assay.model.clock import Clock
from assay.model.errors import Conflict
from assay.model.ids import new_id
from assay.model.moderation import MAX_STATEMENT_LENGTH, MIN_STATEMENT_LENGTH, Appeal
from assay.model.submission import Reason, State
from assay.model.text import clean_statement
from assay.moderation.examined_content import read_examined
from assay.publish.refuse import reason_columns
from assay.store.moderation.appeals import add_appeal
from assay.store.operations.audit import record_audit
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Step, move

CODE = "appealed"
NEXT_STEP = "Wait for a reviewer; the answer will appear here."


async def file_appeal(
    db: AsyncConnection, submission_id: UUID, text: str, caller: Caller, limit: RateLimit, clock: Clock
) -> Appeal:
    """File an appeal and move a refused submission to NEEDS_REVIEW. Raises Conflict on a second appeal."""
    statement = clean_statement(text, "text", shortest=MIN_STATEMENT_LENGTH, longest=MAX_STATEMENT_LENGTH)
    await lock_by_ids(db, [submission_id])
    examined = await read_examined(db, submission_id)
    submission = examined.submission
    await require_submission_owner(db, caller, submission)
    new = Appeal(new_id(), submission_id, examined.digest, statement, caller.name, clock.now())
    if not await add_appeal(db, new):
        raise Conflict(
            "These files have already been appealed. Change them and submit the skill again.", code="appealed"
        )
    await enforce_rate_limit(db, limit, caller_key(caller), clock.now())
    if submission.state is not State.NEEDS_REVIEW:
        before = submission.reason.message if submission.reason else ""
        reason = Reason(CODE, f"The author has appealed. Previous reason: {before}", NEXT_STEP)
        about = {"reason": CODE, "digest": examined.digest, "commit": examined.commit}
        step = Step(State.NEEDS_REVIEW, CODE, about)
        await move(db, submission, step, actor=caller.name, **reason_columns(reason))
    await record_audit(db, caller.name, CODE, str(submission_id), {"digest": examined.digest})
    return new
