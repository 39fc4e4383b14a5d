"""Rescans requested by signed-in users, rate-limited per account and listing."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import is_owner_or_submitter
from assay.accounts.rate_limit import RateLimit, caller_key, enforce_rate_limit
from assay.model.account import Caller
from assay.model.clock import Clock
from assay.model.errors import Conflict
from assay.model.skill import ListingStatus, Skill
from assay.store.operations.audit import record_audit
from assay.store.skills.locks import lock_skill
from assay.submit.admission import Admission, Admitted, admit_submission
from assay.submit.resubmit import build_resubmission

LISTING_LIMIT = RateLimit("rescans of a listing", at_most=1, seconds=3_600)


async def request_rescan(
    db: AsyncConnection, listing: Skill, caller: Caller, account_limit: RateLimit, clock: Clock
) -> Admitted:
    """Resubmit a live listing. While a submission is active, return it without counting against the limits."""
    locked = await lock_skill(db, listing.name)
    if locked.standing is not ListingStatus.LIVE:
        raise Conflict(f"{locked.name} is {locked.standing}; only live listings can be rescanned.", code="not_live")
    admitted = await admit_submission(db, await build_resubmission(db, locked, caller))
    if admitted.admission is Admission.DUPLICATE:
        return admitted
    if not caller.is_reviewer and not await is_owner_or_submitter(db, caller, locked):
        await enforce_rate_limit(db, LISTING_LIMIT, str(locked.id), clock.now())
    if not caller.is_reviewer:
        await enforce_rate_limit(db, account_limit, caller_key(caller), clock.now())
    await record_audit(
        db, caller.name, "skill_rescan_requested", locked.name, {"submission": str(admitted.submission.id)}
    )
    return admitted
