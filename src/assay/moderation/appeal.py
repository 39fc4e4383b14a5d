"""Appeal: the author of what was refused asks for a person, once for the same files."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import must_own_submission
from assay.accounts.rate_limit import Allowance, spend
from assay.model.account import Caller
from assay.model.appeal import LONGEST, SHORTEST, Appeal
from assay.model.clock import Clock
from assay.model.errors import Conflict
from assay.model.free_text import checked_statement
from assay.model.ids import new_id
from assay.model.submission import Reason, State
from assay.moderation.examined_content import read_examined
from assay.publish.refuse import reason_columns
from assay.store.moderation.appeals import add_appeal
from assay.store.operations.audit import record_audit
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Step, move

A_DAY = Allowance("appeals", at_most=10, seconds=86_400)
CODE = "appealed"
WAIT = "A reviewer will look at it and answer here."


async def appeal(db: AsyncConnection, submission_id: UUID, text: str, caller: Caller, clock: Clock) -> Appeal:
    """Ask for a person. What was refused comes to the reviewers; what is there already shows the appeal."""
    said = checked_statement(text, "text", shortest=SHORTEST, longest=LONGEST)
    await lock_by_ids(db, [submission_id])
    examined = await read_examined(db, submission_id)
    submission = examined.submission
    await must_own_submission(db, caller, submission)
    new = Appeal(new_id(), submission_id, examined.digest, said, caller.name, clock.now())
    if not await add_appeal(db, new):
        raise Conflict("There was an appeal for these files already; change them, and submit again.", code="appealed")
    await spend(db, A_DAY, str(caller.account_id or caller.name), clock.now())
    if submission.state is not State.NEEDS_REVIEW:
        before = submission.reason.message if submission.reason else ""
        reason = Reason(CODE, f"Its author has appealed. Before that: {before}", WAIT)
        about = {"reason": CODE, "digest": examined.digest, "commit": examined.commit}
        step = Step(State.NEEDS_REVIEW, CODE, about)
        await move(db, submission, step, actor=caller.name, **reason_columns(reason))
    await record_audit(db, caller.name, CODE, str(submission_id), {"digest": examined.digest})
    return new
