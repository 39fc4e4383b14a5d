"""Ask for a new look at a listing: anybody who is signed in may, some times a day, and not right after another."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import may_ask_for
from assay.accounts.rate_limit import Allowance, spend
from assay.model.account import Caller
from assay.model.clock import Clock
from assay.model.errors import Conflict
from assay.model.listing_status import Standing
from assay.model.skill import Skill
from assay.store.operations.audit import record_audit
from assay.store.versions.status import lock_skill
from assay.submit.admission import Accepted, Admission, accept_submission
from assay.submit.resubmit import request_again

A_DAY = Allowance("rescans for an account", at_most=20, seconds=86_400)
AN_HOUR = Allowance("rescans of a listing", at_most=1, seconds=3_600)


async def ask_for_rescan(db: AsyncConnection, listing: Skill, caller: Caller, clock: Clock) -> Accepted:
    """The submission that is looked at. While one is under way it is the same one, and costs nobody anything."""
    locked = await lock_skill(db, listing.name)
    if locked.standing is not Standing.LIVE:
        raise Conflict(f"{locked.name} is {locked.standing}; there is nothing to look at.", code="not_live")
    accepted = await accept_submission(db, await request_again(db, locked, caller))
    if accepted.admission is Admission.DUPLICATE:
        return accepted
    if not await may_ask_for(db, caller, locked):
        await spend(db, AN_HOUR, str(locked.id), clock.now())
    if not caller.is_admin:
        await spend(db, A_DAY, str(caller.account_id), clock.now())
    await record_audit(
        db, caller.name, "skill_rescan_requested", locked.name, {"submission": str(accepted.submission.id)}
    )
    return accepted
